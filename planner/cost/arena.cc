// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/arena.h"

#include <algorithm>
#include <cmath>

#include "planner/base/check.h"

namespace shardplan {

Held Arena::Hold(const TapeTensor& tensor, int stream) {
  if (tensor.bytes < kLeast) return {};
  const auto block =
      allocator_.Allocate(static_cast<std::uint64_t>(std::llround(tensor.bytes)), stream);
  SHARDPLAN_CHECK(block.has_value());  // the capacity is unlimited
  if (tensor.label >= bytes_.size()) bytes_.resize(tensor.label + 1u);
  bytes_[tensor.label] += allocator_.SizeOf(*block);
  const std::uint64_t now = allocator_.now().allocated;
  recent_ = std::max(recent_, now);
  if (now > peak_) {
    peak_ = now;
    at_peak_ = bytes_;
  }
  return {*block, tensor.label, false};
}

void Arena::Drop(Held& held) {
  if (held.empty) return;
  bytes_[held.label] -= allocator_.SizeOf(held.block);
  allocator_.Free(held.block);
  held.empty = true;
}

void Arena::Drop(std::vector<Held>& all) {
  for (Held& held : all) Drop(held);
  all.clear();
}

void Arena::Watch() {
  allocator_.ResetPeak();
  peak_ = recent_ = allocator_.now().allocated;
  at_peak_ = bytes_;
}

std::uint64_t Arena::TakePeak() {
  const std::uint64_t peak = recent_;
  recent_ = allocator_.now().allocated;
  return peak;
}
}  // namespace shardplan
