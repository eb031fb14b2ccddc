// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/embedding.h"

namespace shardplan::kernels {
namespace {

constexpr int kThreads = 256;

// A block a token.
template <class T>
__global__ void __launch_bounds__(kThreads)
    Gather(EmbeddingShape shape, const int32_t* ids, const T* table, T* y) {
  const int64_t packs = shape.columns / kLanes<T>;
  const int64_t row = ids[blockIdx.x] - shape.first_row;
  const bool is_here = row >= 0 && row < shape.rows;
  for (int64_t c = threadIdx.x; c < packs; c += kThreads) {
    Pack<T> x;
    for (int j = 0; j < kLanes<T>; ++j) x.Set(j, 0.f);
    if (is_here) x = Packs(table)[row * packs + c];
    Packs(y)[blockIdx.x * packs + c] = x;
  }
}

__device__ void AddTo(float4* sum, float4 value) {
#if __CUDA_ARCH__ >= 900
  atomicAdd(sum, value);
#else
  atomicAdd(&sum->x, value.x);
  atomicAdd(&sum->y, value.y);
  atomicAdd(&sum->z, value.z);
  atomicAdd(&sum->w, value.w);
#endif
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    ScatterAdd(EmbeddingShape shape, const int32_t* ids, const T* dy, float* dtable) {
  const int64_t packs = shape.columns / kLanes<T>;
  const int64_t row = ids[blockIdx.x] - shape.first_row;
  if (row < 0 || row >= shape.rows) return;
  for (int64_t c = threadIdx.x; c < packs; c += kThreads) {
    const Pack<T> d = Packs(dy)[blockIdx.x * packs + c];
    auto* out = reinterpret_cast<float4*>(dtable + row * shape.columns + c * kLanes<T>);
    for (int j = 0; j < kLanes<T>; j += 4)
      AddTo(out + j / 4, float4{d[j], d[j + 1], d[j + 2], d[j + 3]});
  }
}

void CheckShape(const EmbeddingShape& shape, DType dtype) {
  SHARDPLAN_CHECK(shape.columns > 0 && shape.columns * SizeOf(dtype) % 16 == 0);
  SHARDPLAN_CHECK(shape.rows > 0 && shape.first_row >= 0);
}
}  // namespace

void EmbeddingForward(const EmbeddingShape& shape, DType dtype, const int32_t* ids,
                      const void* table, void* y, Stream stream) {
  CheckShape(shape, dtype);
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(Gather<T>, GridOf(shape.tokens, 1), kThreads, stream, shape, ids, As<T>(table),
           As<T>(y));
  });
}

void EmbeddingBackward(const EmbeddingShape& shape, DType dtype, const int32_t* ids, const void* dy,
                       float* dtable, Stream stream) {
  CheckShape(shape, dtype);
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(ScatterAdd<T>, GridOf(shape.tokens, 1), kThreads, stream, shape, ids, As<T>(dy), dtable);
  });
}
}  // namespace shardplan::kernels
