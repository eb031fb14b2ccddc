// SPDX-License-Identifier: Apache-2.0
// The memory-bound passes of a training step: what each must move, whatever device runs it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "probe/device.h"

namespace shardplan::probe {

// The least bytes that a pass moves: `data` tensors of the shape in its dtype, `fixed` bytes an
// element and `row` bytes a row beside them. Each tensor counts once for each time that it must be
// read or written.
struct Pass {
  std::string_view name;
  double data, fixed, row;
};
const std::vector<Pass>& Passes();
const Pass* FindPass(std::string_view name);
std::vector<std::string> PassNames();
double BytesOf(const Pass& pass, const ElementwiseShape& shape);

// Tokens of a mixture of experts go to this many experts each; a head has this many elements;
// top-k takes one entry in so many.
inline constexpr std::int64_t kPassTopExperts = 2, kPassExperts = 8;
inline constexpr std::int64_t kPassHeadDim = 128;
inline constexpr std::int64_t kPassTopKShare = 100;
}  // namespace shardplan::probe
