// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/rotary.h"

namespace shardplan::kernels {
namespace {

// Heads that one thread turns by the angles that it has loaded.
constexpr int kHeadsPerThread = 4;
constexpr int kThreads = 256;

// A thread owns one pack of each half; neighbours own neighbouring packs of a token's heads.
template <class T>
__global__ void __launch_bounds__(kThreads)
    Turn(RotaryShape shape, float sign, const T* x, const float* cos, const float* sin, T* y) {
  const int half_packs = static_cast<int>(shape.head_dim / 2 / kLanes<T>);
  const int64_t index = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t token = index / half_packs;
  const int pack = static_cast<int>(index % half_packs);
  if (token >= shape.tokens) return;

  const int64_t angle = (token % shape.positions * half_packs + pack) * kLanes<T>;
  const auto c = LoadFloats<kLanes<T>>(cos + angle);
  const auto s = LoadFloats<kLanes<T>>(sin + angle);
  const int64_t first_head = int64_t{blockIdx.y} * kHeadsPerThread;
  const int64_t head_packs = 2 * half_packs;
  const int64_t start = token * (shape.token_stride / kLanes<T>)+first_head * head_packs + pack;

  Pack<T> x1[kHeadsPerThread];
  Pack<T> x2[kHeadsPerThread];
#pragma unroll
  for (int h = 0; h < kHeadsPerThread; ++h)
    if (first_head + h < shape.heads) {
      x1[h] = Packs(x)[start + h * head_packs];
      x2[h] = Packs(x)[start + h * head_packs + half_packs];
    }
#pragma unroll
  for (int h = 0; h < kHeadsPerThread; ++h)
    if (first_head + h < shape.heads) {
      Pack<T> y1;
      Pack<T> y2;
      for (int j = 0; j < kLanes<T>; ++j) {
        y1.Set(j, x1[h][j] * c.lane[j] - x2[h][j] * (sign * s.lane[j]));
        y2.Set(j, x2[h][j] * c.lane[j] + x1[h][j] * (sign * s.lane[j]));
      }
      Packs(y)[start + h * head_packs] = y1;
      Packs(y)[start + h * head_packs + half_packs] = y2;
    }
}
}  // namespace

void Rotary(const RotaryShape& shape, DType dtype, Direction direction, const void* x,
            const float* cos, const float* sin, void* y, Stream stream) {
  SHARDPLAN_CHECK(shape.heads > 0 && shape.head_dim > 0 && shape.positions > 0);
  SHARDPLAN_CHECK(shape.head_dim % 16 == 0 && shape.token_stride * SizeOf(dtype) % 16 == 0);
  const int64_t half_packs = shape.head_dim * SizeOf(dtype) / 32;
  const dim3 grid(GridOf(shape.tokens * half_packs, kThreads),
                  GridOf(shape.heads, kHeadsPerThread));
  const float sign = direction == Direction::kForward ? 1.f : -1.f;
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(Turn<T>, grid, kThreads, stream, shape, sign, As<T>(x), cos, sin, As<T>(y));
  });
}
}  // namespace shardplan::kernels
