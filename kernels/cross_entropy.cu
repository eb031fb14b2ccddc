// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/cross_entropy.h"
#include "kernels/device.cuh"

namespace shardplan::kernels {
namespace {

// Threads of a block, which takes a row: so many packs a thread, and the fewer threads the more
// rows at once.
constexpr int kMostThreads = 512;
constexpr int kPacksToDifferentiate = 4;
constexpr int kPacksToSum = 8;  // a thread, so that the reduction at the end weighs little
unsigned ThreadsFor(const CrossEntropyShape& shape, DType dtype, int packs_per_thread) {
  const int64_t packs = shape.columns * SizeOf(dtype) / 16;
  unsigned threads = 128;
  while (threads < kMostThreads && threads * packs_per_thread < packs) threads *= 2;
  return threads;
}
using Statistics = SoftmaxStatistics<float>;

// Sums relative to different maxima, brought to the larger one. Rows of -infinity stay at zero.
__device__ void Merge(float& largest, float& sum, float other_largest, float other_sum) {
  const float top = fmaxf(largest, other_largest);
  if (top == -INFINITY) return;
  sum = sum * __expf(largest - top) + other_sum * __expf(other_largest - top);
  largest = top;
}

__device__ void MergeOverWarp(float& largest, float& sum) {
  const float top = WarpMax(largest);
  sum = WarpSum(largest > -INFINITY ? sum * __expf(largest - top) : 0.f);
  largest = top;
}

// A block a row. A thread rescales its sum once a pack, not once an element.
template <class T>
__global__ void __launch_bounds__(kMostThreads)
    Summarize(CrossEntropyShape shape, const T* logits, const int32_t* targets, Statistics* out) {
  __shared__ float warp_largest[kMostThreads / kWarp];
  __shared__ float warp_sum[kMostThreads / kWarp];
  const int64_t row = blockIdx.x;
  const int packs = static_cast<int>(shape.columns / kLanes<T>);
  const Pack<T>* logit = Packs(logits) + row * packs;

  float largest = -INFINITY;
  float sum = 0;
#pragma unroll 4
  for (int c = threadIdx.x; c < packs; c += blockDim.x) {
    const Pack<T> x = logit[c];
    float top = x[0];
    for (int j = 1; j < kLanes<T>; ++j) top = fmaxf(top, x[j]);
    float part = 0;
    for (int j = 0; j < kLanes<T>; ++j) part += __expf(x[j] - top);
    if (top > -INFINITY) Merge(largest, sum, top, part);
  }
  MergeOverWarp(largest, sum);
  if (threadIdx.x % kWarp == 0) {
    warp_largest[threadIdx.x / kWarp] = largest;
    warp_sum[threadIdx.x / kWarp] = sum;
  }
  __syncthreads();
  if (threadIdx.x >= kWarp) return;
  const bool has_warp = threadIdx.x < blockDim.x / kWarp;
  largest = has_warp ? warp_largest[threadIdx.x] : -INFINITY;
  sum = has_warp ? warp_sum[threadIdx.x] : 0.f;
  MergeOverWarp(largest, sum);
  if (threadIdx.x != 0) return;
  const int64_t column = targets[row] - shape.first_column;
  const bool is_here = column >= 0 && column < shape.columns;
  out[row] = {largest, sum, is_here ? ToFloat(logits[row * shape.columns + column]) : 0.f};
}

__global__ void Combine(int64_t ranks, int64_t rows, const Statistics* parts,
                        const int32_t* targets, Statistics* whole, float* losses) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  Statistics out = parts[row];
  for (int64_t rank = 1; rank < ranks; ++rank) {
    const Statistics part = parts[rank * rows + row];
    Merge(out.largest, out.sum, part.largest, part.sum);
    out.target += part.target;
  }
  whole[row] = out;
  if (losses)
    losses[row] = targets[row] == kIgnored ? 0.f : logf(out.sum) + out.largest - out.target;
}

template <class T>
__global__ void __launch_bounds__(kMostThreads)
    Differentiate(CrossEntropyShape shape, float scale, const Statistics* whole,
                  const int32_t* targets, T* logits) {
  const int64_t row = blockIdx.x;
  const int packs = static_cast<int>(shape.columns / kLanes<T>);
  Pack<T>* logit = Packs(logits) + row * packs;
  const float largest = whole[row].largest;
  const int32_t target = targets[row];
  const float factor = target == kIgnored ? 0.f : scale / whole[row].sum;
  const int64_t column = target - shape.first_column;  // of the target, where it is here
#pragma unroll 4
  for (int c = threadIdx.x; c < packs; c += blockDim.x) {
    Pack<T> x = logit[c];
    const int64_t first = int64_t{c} * kLanes<T>;
    for (int j = 0; j < kLanes<T>; ++j) {
      const float probability = __expf(x[j] - largest) * factor;
      x.Set(j, first + j == column ? probability - scale : probability);
    }
    logit[c] = x;
  }
}

void CheckShape(const CrossEntropyShape& shape, DType dtype) {
  SHARDPLAN_CHECK(shape.columns > 0 && shape.columns * SizeOf(dtype) % 16 == 0);
  SHARDPLAN_CHECK(shape.first_column >= 0);
}
}  // namespace

void CrossEntropyStatistics(const CrossEntropyShape& shape, DType dtype, const void* logits,
                            const int32_t* targets, SoftmaxStatistics<float>* statistics,
                            Stream stream) {
  CheckShape(shape, dtype);
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(Summarize<T>, GridOf(shape.rows, 1), ThreadsFor(shape, dtype, kPacksToSum), stream,
           shape, As<T>(logits), targets, statistics);
  });
}

void CrossEntropyCombine(int64_t ranks, int64_t rows, const SoftmaxStatistics<float>* parts,
                         const int32_t* targets, SoftmaxStatistics<float>* whole, float* losses,
                         Stream stream) {
  SHARDPLAN_CHECK(ranks > 0);
  Launch(Combine, GridOf(rows, 256), 256, stream, ranks, rows, parts, targets, whole, losses);
}

void CrossEntropyGradient(const CrossEntropyShape& shape, DType dtype, float scale,
                          const SoftmaxStatistics<float>* whole, const int32_t* targets,
                          void* logits, Stream stream) {
  CheckShape(shape, dtype);
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(Differentiate<T>, GridOf(shape.rows, 1), ThreadsFor(shape, dtype, kPacksToDifferentiate),
           stream, shape, scale, whole, targets, As<T>(logits));
  });
}
}  // namespace shardplan::kernels
