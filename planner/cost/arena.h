// SPDX-License-Identifier: Apache-2.0
// Named tensors over a CachingAllocator: who holds what, and who held it at the peak.
//
// Private to planner/cost.
#pragma once
#include <vector>

#include "planner/cost/allocator.h"
#include "planner/cost/tape.h"

namespace shardplan {

// A tensor that somebody holds; empty ones hold nothing.
struct Held {
  CachingAllocator::Block block = 0;
  Labels::Id label = 0;
  bool empty = true;
};

class Arena {
 public:
  explicit Arena(const AllocatorOptions& options) : allocator_(options) {}

  // Tensors of less are left out: thousands of them would change little.
  static constexpr double kLeast = 64 * 1024;

  Held Hold(const TapeTensor& tensor, int stream = 0);
  // Leaves `held` empty.
  void Drop(Held& held);
  void Drop(std::vector<Held>& all);

  Bytes BytesOf(const Held& held) const {
    return {held.empty ? 0 : static_cast<double>(allocator_.SizeOf(held.block))};
  }

  // From here on the peak is looked for anew.
  void Watch();
  const CachingAllocator& allocator() const { return allocator_; }
  // Most allocated since the last call, or since Watch.
  std::uint64_t TakePeak();
  // By label, at the most allocated since Watch; labels beyond the end held nothing.
  const std::vector<std::uint64_t>& at_peak() const { return at_peak_; }
  std::uint64_t peak() const { return peak_; }

 private:
  CachingAllocator allocator_;
  std::vector<std::uint64_t> bytes_, at_peak_;  // by label
  std::uint64_t peak_ = 0, recent_ = 0;
};
}  // namespace shardplan
