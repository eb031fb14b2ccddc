// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding, as Llama applies it: element i of a head's first half turns with
// element i of its second half by the angle position * frequency[i].
//
//   y1 = x1 cos - x2 sin,   y2 = x2 cos + x1 sin          (backward: the angle's sign flips)
// Bytes moved at least: x read and y written once.
#pragma once
#include <cstdint>

#include "kernels/dtype.h"
#include "kernels/stream.h"

namespace shardplan::kernels {

// x and y: [tokens, heads, head_dim], tokens `token_stride` elements apart, so that queries and
// keys can lie in one fused projection. Token t stands at position t % positions.
struct RotaryShape {
  int64_t tokens = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;  // a multiple of 16
  int64_t token_stride = 0;
  int64_t positions = 0;
};
enum class Direction { kForward, kBackward };

// cos and sin: [positions, head_dim / 2]. y may be x.
template <class Real>
void RotaryReference(const RotaryShape& shape, Direction direction, const Real* x, const Real* cos,
                     const Real* sin, Real* y);

// cos and sin in fp32.
void Rotary(const RotaryShape& shape, DType dtype, Direction direction, const void* x,
            const float* cos, const float* sin, void* y, Stream stream);
}  // namespace shardplan::kernels
