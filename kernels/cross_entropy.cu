// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/cross_entropy.h"
#include "kernels/device.cuh"

namespace shardplan::kernels {
namespace {

constexpr int kMostThreads = 512;
// Threads that share a row: a power of two of warps, so many packs a thread.
unsigned ThreadsFor(const CrossEntropyShape& shape, DType dtype, int packs_per_thread) {
  const int64_t packs = shape.columns * SizeOf(dtype) / 16;
  unsigned threads = kWarp;
  while (threads < kMostThreads && threads * packs_per_thread < packs) threads *= 2;
  return threads;
}
// Sums take more packs a thread, so that the reduction at the end weighs little. A row of one warp
// shares its block with others; threadIdx.y tells them apart.
dim3 BlockToSum(const CrossEntropyShape& shape, DType dtype) {
  const unsigned threads = ThreadsFor(shape, dtype, 16);
  return {threads, threads == kWarp ? 8U : 1U};
}
unsigned BlockToDifferentiate(const CrossEntropyShape& shape, DType dtype) {
  return std::max(128U, ThreadsFor(shape, dtype, 4));
}
using Statistics = SoftmaxStatistics<float>;

__device__ float Exponential(float x) { return PowerOfTwo(x * kLog2E); }
// e^(x - top), where `scaled_top` is top * kLog2E.
__device__ float ExponentialBelow(float scaled_top, float x) {
  return PowerOfTwo(fmaf(x, kLog2E, -scaled_top));
}

// Sums relative to different maxima, brought to the larger one. Rows of -infinity stay at zero.
__device__ void Merge(float& largest, float& sum, float other_largest, float other_sum) {
  const float top = fmaxf(largest, other_largest);
  if (top == -INFINITY) return;
  sum = sum * Exponential(largest - top) + other_sum * Exponential(other_largest - top);
  largest = top;
}

__device__ void MergeOverWarp(float& largest, float& sum) {
  const float top = WarpMax(largest);
  sum = WarpSum(largest > -INFINITY ? sum * Exponential(largest - top) : 0.f);
  largest = top;
}

// Packs that a thread asks for before it uses any; it rescales its sum once for all of them.
constexpr int kAtOnce = 4;

template <class T>
__global__ void __launch_bounds__(kMostThreads)
    Summarize(CrossEntropyShape shape, const T* logits, const int32_t* targets, Statistics* out) {
  __shared__ float warp_largest[kMostThreads / kWarp];
  __shared__ float warp_sum[kMostThreads / kWarp];
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= shape.rows) return;  // never a part of a block that is one row
  const int packs = static_cast<int>(shape.columns / kLanes<T>);
  const Pack<T>* logit = Packs(logits) + row * packs;

  float largest = -INFINITY;
  float sum = 0;
  for (int first = threadIdx.x; first < packs; first += kAtOnce * blockDim.x) {
    Pack<T> x[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int c = first + i * static_cast<int>(blockDim.x);
      if (c < packs)
        x[i] = logit[c];
      else
        for (int j = 0; j < kLanes<T>; ++j) x[i].Set(j, -INFINITY);
    }
#pragma unroll
    for (auto& pack : x) KeepPacked(pack);
    float top = largest;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      for (int j = 0; j < kLanes<T>; ++j) top = fmaxf(top, x[i][j]);
    if (top == -INFINITY) continue;
    sum *= Exponential(largest - top);
    const float scaled_top = top * kLog2E;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      for (int j = 0; j < kLanes<T>; ++j) sum += ExponentialBelow(scaled_top, x[i][j]);
    largest = top;
  }
  MergeOverWarp(largest, sum);
  if (blockDim.x > kWarp) {
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
  }
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
  const float scaled_top = whole[row].largest * kLog2E;
  const int32_t target = targets[row];
  const float factor = target == kIgnored ? 0.f : scale / whole[row].sum;
  const int64_t column = target - shape.first_column;  // of the target, where it is here
  // Rows need not begin where a line of the cache does, but a warp's accesses should.
  const int ahead = static_cast<int>(row * packs % (128 / 16));
#pragma unroll 4
  for (int c = static_cast<int>(threadIdx.x) - ahead; c < packs; c += blockDim.x) {
    if (c < 0) continue;
    Pack<T> x = logit[c];
    const int64_t first = int64_t{c} * kLanes<T>;
    for (int j = 0; j < kLanes<T>; ++j) {
      const float probability = ExponentialBelow(scaled_top, x[j]) * factor;
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
    const dim3 block = BlockToSum(shape, dtype);
    Launch(Summarize<T>, GridOf(shape.rows, block.y), block, stream, shape, As<T>(logits), targets,
           statistics);
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
    Launch(Differentiate<T>, GridOf(shape.rows, 1), BlockToDifferentiate(shape, dtype), stream,
           shape, scale, whole, targets, As<T>(logits));
  });
}
}  // namespace shardplan::kernels
