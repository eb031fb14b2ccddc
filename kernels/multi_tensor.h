// SPDX-License-Identifier: Apache-2.0
// One launch over many tensors: they are cut into chunks of equal size, one block a chunk.
#pragma once
#include <cstdint>
#include <vector>

namespace shardplan::kernels {

inline constexpr int64_t kChunkElements = 1 << 14;

struct Chunk {
  int32_t tensor;
  int32_t index;  // elements [index * kChunkElements, ...) of the tensor
};
// The chunks of tensors of these sizes, in order. The caller copies them to the device, once for as
// long as the tensors stay where they are.
std::vector<Chunk> ChunksOf(const std::vector<int64_t>& elements);
}  // namespace shardplan::kernels
