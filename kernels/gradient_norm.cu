// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/gradient_norm.h"

namespace shardplan::kernels {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    SquareChunks(const NormTensor* tensors, const Chunk* chunks, float* partials) {
  __shared__ Pair scratch[kWarp];
  const Chunk chunk = chunks[blockIdx.x];
  const NormTensor tensor = tensors[chunk.tensor];
  const int64_t start = chunk.index * kChunkElements;
  const int count = static_cast<int>(min(kChunkElements, tensor.elements - start));
  const T* x = static_cast<const T*>(tensor.data) + start;
  const int packs = count / kLanes<T>;
  float sum = 0;
#pragma unroll 4
  for (int c = threadIdx.x; c < packs; c += kThreads) {
    const Pack<T> pack = Packs(x)[c];
    for (int j = 0; j < kLanes<T>; ++j) sum += pack[j] * pack[j];
  }
  const int tail = packs * kLanes<T> + threadIdx.x;
  if (tail < count) sum += ToFloat(x[tail]) * ToFloat(x[tail]);
  sum = RowSum({sum, 0}, scratch).first;
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads)
    SumPartials(const float* partials, int64_t count, float* out) {
  __shared__ double sums[kThreads];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) sum += partials[i];
  sums[threadIdx.x] = sum;
  for (int width = kThreads / 2; width > 0; width /= 2) {
    __syncthreads();
    if (threadIdx.x < width) sums[threadIdx.x] += sums[threadIdx.x + width];
  }
  if (threadIdx.x == 0) *out = static_cast<float>(sums[0]);
}

__global__ void Clip(const float* sum, float largest, float unscale, float* scale) {
  const float norm = unscale * sqrtf(*sum);
  *scale = isfinite(norm) ? unscale * (norm > largest ? largest / norm : 1.f) : nanf("");
}
}  // namespace

void SumOfSquares(DType dtype, const NormTensor* tensors, const Chunk* chunks, int64_t chunk_count,
                  void* workspace, float* sum, Stream stream) {
  auto* partials = static_cast<float*>(workspace);
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(SquareChunks<T>, GridOf(chunk_count, 1), kThreads, stream, tensors, chunks, partials);
  });
  Launch(SumPartials, 1, kThreads, stream, partials, chunk_count, sum);
}

void ClipScale(const float* sum, float largest, float unscale, float* scale, Stream stream) {
  Launch(Clip, 1, 1, stream, sum, largest, unscale, scale);
}
}  // namespace shardplan::kernels
