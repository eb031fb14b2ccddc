// SPDX-License-Identifier: Apache-2.0
#include "kernels/multi_tensor.h"

#include <limits>

#include "planner/base/check.h"

namespace shardplan::kernels {

std::vector<Chunk> ChunksOf(const std::vector<int64_t>& elements) {
  std::vector<Chunk> chunks;
  for (size_t tensor = 0; tensor < elements.size(); ++tensor) {
    const int64_t count = (elements[tensor] + kChunkElements - 1) / kChunkElements;
    SHARDPLAN_CHECK(elements[tensor] >= 0 && count <= std::numeric_limits<int32_t>::max());
    for (int64_t index = 0; index < count; ++index)
      chunks.push_back({static_cast<int32_t>(tensor), static_cast<int32_t>(index)});
  }
  return chunks;
}
}  // namespace shardplan::kernels
