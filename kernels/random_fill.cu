// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp8.h>

#include "kernels/device.cuh"
#include "kernels/random_fill.h"

namespace shardplan::kernels {

template <>
__device__ __nv_fp8_e4m3 FromFloat<__nv_fp8_e4m3>(float x) {
  return __nv_fp8_e4m3(x);
}

namespace {

constexpr int kThreads = 256;

// SplitMix64's mixing function over a counter.
__device__ uint64_t Mix(uint64_t seed, int64_t index) {
  uint64_t x = seed + 0x9e3779b97f4a7c15u * static_cast<uint64_t>(index + 1);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// Box and Muller's transform of two uniform numbers of 32 bits.
template <class T>
__global__ void __launch_bounds__(kThreads) Normal(int64_t elements, uint64_t seed, T* out) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= elements) return;
  const uint64_t bits = Mix(seed, i);
  const float radius = (static_cast<uint32_t>(bits) + 1.f) * 0x1p-32f;
  const float angle = static_cast<uint32_t>(bits >> 32) * 0x1p-32f;
  out[i] = FromFloat<T>(sqrtf(-2.f * logf(fminf(radius, 1.f))) * cospif(2.f * angle));
}

__global__ void __launch_bounds__(kThreads)
    Integers(int64_t elements, int32_t below, uint64_t seed, int32_t* out) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < elements) out[i] = static_cast<int32_t>(Mix(seed, i) % static_cast<uint32_t>(below));
}
}  // namespace

void FillNormal(int64_t elements, DType dtype, uint64_t seed, void* out, Stream stream) {
  const auto fill = [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(Normal<T>, GridOf(elements, kThreads), kThreads, stream, elements, seed, As<T>(out));
  };
  if (dtype == DType::kFloat8E4M3)
    fill(Tag<__nv_fp8_e4m3>{});
  else
    Dispatch(dtype, fill);
}

void FillIntegers(int64_t elements, int32_t below, uint64_t seed, int32_t* out, Stream stream) {
  SHARDPLAN_CHECK(below > 0);
  Launch(Integers, GridOf(elements, kThreads), kThreads, stream, elements, below, seed, out);
}
}  // namespace shardplan::kernels
