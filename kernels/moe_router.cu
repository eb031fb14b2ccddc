// SPDX-License-Identifier: Apache-2.0
// The router's half of moe.h: the choice of experts, its gradient, and the order by expert.
#include <cmath>

#include "kernels/device.cuh"
#include "kernels/moe.h"

namespace shardplan::kernels {
namespace {

constexpr int kMostExperts = 256;
constexpr int kPerLane = kMostExperts / kWarp;
constexpr int kTokensPerBlock = 8;  // a warp each
constexpr int kMapThreads = 1024;

// Lane l holds the logits of experts l, l + 32, ...
struct Logits {
  float value[kPerLane];

  __device__ Logits(const float* row, int64_t experts) {
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const int64_t expert = threadIdx.x + i * kWarp;
      value[i] = expert < experts ? row[expert] : -INFINITY;
    }
  }
  __device__ float Largest() const {
    float largest = -INFINITY;
    for (int i = 0; i < kPerLane; ++i) largest = fmaxf(largest, value[i]);
    return WarpMax(largest);
  }
  __device__ float SumOfExponentials(float largest) const {
    float sum = 0;
    for (int i = 0; i < kPerLane; ++i) sum += expf(value[i] - largest);
    return WarpSum(sum);
  }
};

// The expert with the largest logit still there, the lower one of equals; it is then taken away.
__device__ int TakeBest(Logits& logits, float& value) {
  float best = -INFINITY;
  int expert = kMostExperts;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i)
    if (logits.value[i] > best) {
      best = logits.value[i];
      expert = static_cast<int>(threadIdx.x) + i * kWarp;
    }
#pragma unroll
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    const float other = __shfl_xor_sync(~0u, best, mask);
    const int other_expert = __shfl_xor_sync(~0u, expert, mask);
    if (other > best || (other == best && other_expert < expert)) {
      best = other;
      expert = other_expert;
    }
  }
#pragma unroll
  for (int i = 0; i < kPerLane; ++i)
    if (expert == static_cast<int>(threadIdx.x) + i * kWarp) logits.value[i] = -INFINITY;
  value = best;
  return expert;
}

__global__ void Pick(MoeShape shape, const float* logits, int32_t* experts, float* weights) {
  const int64_t token = int64_t{blockIdx.x} * kTokensPerBlock + threadIdx.y;
  if (token >= shape.tokens) return;
  Logits row(logits + token * shape.experts, shape.experts);
  const float largest = row.Largest();
  const float total = row.SumOfExponentials(largest);
  float picked = 0;
  float mine = 0;  // lane s keeps the weight of slot s
  for (int s = 0; s < shape.top; ++s) {
    float value;
    const int expert = TakeBest(row, value);
    const float weight = expf(value - largest);
    picked += weight;
    if (threadIdx.x != s) continue;
    mine = weight;
    experts[token * shape.top + s] = expert;
  }
  if (threadIdx.x < shape.top)
    weights[token * shape.top + threadIdx.x] = mine / (shape.renormalize ? picked : total);
}

__global__ void PickGradient(MoeShape shape, const float* logits, const int32_t* experts,
                             const float* dweights, float* dlogits) {
  const int64_t token = int64_t{blockIdx.x} * kTokensPerBlock + threadIdx.y;
  if (token >= shape.tokens) return;
  const float* row = logits + token * shape.experts;
  const Logits all(row, shape.experts);
  const float largest = all.Largest();
  const float total = all.SumOfExponentials(largest);

  const bool has_slot = threadIdx.x < shape.top;
  const int64_t slot = token * shape.top + threadIdx.x;
  const int pick = has_slot ? experts[slot] : -1;
  const float exponential = has_slot ? expf(row[pick] - largest) : 0.f;
  const float gradient = has_slot ? dweights[slot] : 0.f;
  const float scale = shape.renormalize ? WarpSum(exponential) : total;
  const float weight = exponential / scale;
  const float mean = WarpSum(gradient * weight);  // of the gradient, under the weights

  float* out = dlogits + token * shape.experts;
  for (int i = 0; i < kPerLane; ++i) {
    const int64_t expert = threadIdx.x + i * kWarp;
    if (expert < shape.experts)
      out[expert] = shape.renormalize ? 0.f : -expf(all.value[i] - largest) / total * mean;
  }
  __syncwarp();
  if (has_slot) out[pick] += weight * (shape.renormalize ? gradient - mean : gradient);
}

// A block an expert: how many slots chose it.
__global__ void __launch_bounds__(kMapThreads)
    CountSlots(int64_t slots, const int32_t* experts, int32_t* counts) {
  const int expert = static_cast<int>(blockIdx.x);
  int count = 0;
  for (int64_t i = 0; i < slots; i += kMapThreads) {
    const int64_t slot = i + threadIdx.x;
    count += __syncthreads_count(slot < slots && experts[slot] == expert);
  }
  if (threadIdx.x == 0) counts[expert] = count;
}

// A block an expert: its slots in order, behind those of the experts before it.
__global__ void __launch_bounds__(kMapThreads)
    AssignRows(int64_t slots, const int32_t* experts, const int32_t* counts, int32_t* rows) {
  __shared__ int warp_counts[kMapThreads / kWarp];
  const int expert = static_cast<int>(blockIdx.x);
  const unsigned warp = threadIdx.x / kWarp;
  const unsigned lane = threadIdx.x % kWarp;
  int next = 0;
  for (int e = 0; e < expert; ++e) next += counts[e];

  for (int64_t i = 0; i < slots; i += kMapThreads) {
    const int64_t slot = i + threadIdx.x;
    const bool is_mine = slot < slots && experts[slot] == expert;
    const unsigned ballot = __ballot_sync(~0u, is_mine);
    if (lane == 0) warp_counts[warp] = __popc(ballot);
    __syncthreads();
    int before = 0;
    int all = 0;
    for (unsigned w = 0; w < kMapThreads / kWarp; ++w) {
      before += w < warp ? warp_counts[w] : 0;
      all += warp_counts[w];
    }
    if (is_mine) rows[slot] = next + before + __popc(ballot & ((1u << lane) - 1));
    next += all;
    __syncthreads();  // before the counts are written again
  }
}

void CheckShape(const MoeShape& shape) {
  SHARDPLAN_CHECK(shape.tokens > 0 && shape.experts > 0 && shape.experts <= kMostExperts);
  SHARDPLAN_CHECK(shape.top > 0 && shape.top <= 16 && shape.top <= shape.experts);
}
}  // namespace

void Router(const MoeShape& shape, const float* logits, int32_t* experts, float* weights,
            Stream stream) {
  CheckShape(shape);
  Launch(Pick, GridOf(shape.tokens, kTokensPerBlock), dim3(kWarp, kTokensPerBlock), stream, shape,
         logits, experts, weights);
}

void RouterBackward(const MoeShape& shape, const float* logits, const int32_t* experts,
                    const float* dweights, float* dlogits, Stream stream) {
  CheckShape(shape);
  Launch(PickGradient, GridOf(shape.tokens, kTokensPerBlock), dim3(kWarp, kTokensPerBlock), stream,
         shape, logits, experts, dweights, dlogits);
}

void MoeRowMap(const MoeShape& shape, const int32_t* experts, int32_t* counts, int32_t* rows,
               Stream stream) {
  CheckShape(shape);
  const int64_t slots = shape.tokens * shape.top;
  const unsigned blocks = GridOf(shape.experts, 1);
  Launch(CountSlots, blocks, kMapThreads, stream, slots, experts, counts);
  Launch(AssignRows, blocks, kMapThreads, stream, slots, experts, counts, rows);
}
}  // namespace shardplan::kernels
