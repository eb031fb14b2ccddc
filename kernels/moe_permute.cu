// SPDX-License-Identifier: Apache-2.0
// The moves of token rows of moe.h.
#include "kernels/device.cuh"
#include "kernels/moe.h"

namespace shardplan::kernels {
namespace {

constexpr int kThreads = 256;

// A block a token: reads the row once, writes it to each of its slots.
template <class T>
__global__ void __launch_bounds__(kThreads)
    Spread(MoeShape shape, const T* x, const int32_t* rows, T* y) {
  const int64_t token = blockIdx.x;
  const int64_t packs = shape.columns / kLanes<T>;
  const int top = static_cast<int>(shape.top);
  for (int64_t c = threadIdx.x; c < packs; c += kThreads) {
    const Pack<T> row = Packs(x)[token * packs + c];
    for (int s = 0; s < top; ++s) Packs(y)[rows[token * top + s] * packs + c] = row;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    Collect(MoeShape shape, const T* x, const int32_t* rows, const float* weights, T* y) {
  const int64_t token = blockIdx.x;
  const int64_t packs = shape.columns / kLanes<T>;
  const int top = static_cast<int>(shape.top);
  for (int64_t c = threadIdx.x; c < packs; c += kThreads) {
    Floats<kLanes<T>> sum = {};
#pragma unroll 4
    for (int s = 0; s < top; ++s) {
      const float weight = weights ? weights[token * top + s] : 1.f;
      const Pack<T> row = Packs(x)[rows[token * top + s] * packs + c];
      for (int j = 0; j < kLanes<T>; ++j) sum.lane[j] += weight * row[j];
    }
    Pack<T> out;
    for (int j = 0; j < kLanes<T>; ++j) out.Set(j, sum.lane[j]);
    Packs(y)[token * packs + c] = out;
  }
}

// A warp a slot, so that the dot product of two rows needs no other warp.
template <class T>
__global__ void __launch_bounds__(kThreads)
    SpreadScaled(MoeShape shape, const T* dy, const T* x, const int32_t* rows, const float* weights,
                 T* dx, float* dweights) {
  const int64_t slot = int64_t{blockIdx.x} * (kThreads / kWarp) + threadIdx.y;
  if (slot >= shape.tokens * shape.top) return;
  const int64_t packs = shape.columns / kLanes<T>;
  const Pack<T>* gradient = Packs(dy) + slot / shape.top * packs;
  const Pack<T>* row = Packs(x) + rows[slot] * packs;
  Pack<T>* out = Packs(dx) + rows[slot] * packs;
  const float weight = weights[slot];
  float dot = 0;
#pragma unroll 4
  for (int64_t c = threadIdx.x; c < packs; c += kWarp) {
    Pack<T> d = gradient[c];
    const Pack<T> v = row[c];
    for (int j = 0; j < kLanes<T>; ++j) {
      dot += d[j] * v[j];
      d.Set(j, weight * d[j]);
    }
    out[c] = d;
  }
  dot = WarpSum(dot);
  if (threadIdx.x == 0) dweights[slot] = dot;
}

void CheckShape(const MoeShape& shape, DType dtype) {
  SHARDPLAN_CHECK(shape.tokens > 0 && shape.top > 0);
  SHARDPLAN_CHECK(shape.columns > 0 && shape.columns * SizeOf(dtype) % 16 == 0);
}
}  // namespace

void Permute(const MoeShape& shape, DType dtype, const void* x, const int32_t* rows, void* y,
             Stream stream) {
  CheckShape(shape, dtype);
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(Spread<T>, GridOf(shape.tokens, 1), kThreads, stream, shape, As<T>(x), rows, As<T>(y));
  });
}

void Unpermute(const MoeShape& shape, DType dtype, const void* x, const int32_t* rows,
               const float* weights, void* y, Stream stream) {
  CheckShape(shape, dtype);
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(Collect<T>, GridOf(shape.tokens, 1), kThreads, stream, shape, As<T>(x), rows, weights,
           As<T>(y));
  });
}

void PermuteScaled(const MoeShape& shape, DType dtype, const void* dy, const void* x,
                   const int32_t* rows, const float* weights, void* dx, float* dweights,
                   Stream stream) {
  CheckShape(shape, dtype);
  const dim3 block(kWarp, kThreads / kWarp);
  const unsigned blocks = GridOf(shape.tokens * shape.top, block.y);
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(SpreadScaled<T>, blocks, block, stream, shape, As<T>(dy), As<T>(x), rows, weights,
           As<T>(dx), dweights);
  });
}
}  // namespace shardplan::kernels
