// SPDX-License-Identifier: Apache-2.0
// What the kernels share: 16-byte packs of elements, conversions, sums over warps and rows of
// threads, and the choice of a template by a tensor's format.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/dtype.h"
#include "kernels/launch.cuh"
#include "kernels/stream.h"
#include "planner/base/check.h"

namespace shardplan::kernels {

inline constexpr int kWarp = 32;

__device__ inline float ToFloat(float x) { return x; }
__device__ inline float ToFloat(__half x) { return __half2float(x); }
__device__ inline float ToFloat(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T>
__device__ T FromFloat(float x);
template <>
__device__ inline float FromFloat<float>(float x) {
  return x;
}
template <>
__device__ inline __half FromFloat<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 FromFloat<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

// The widest access that a thread can make. A pointer to packs walks a row of columns / kLanes.
template <class T>
struct alignas(16) Pack {
  static constexpr int kLanes = 16 / sizeof(T);
  T lane[kLanes];

  __device__ float operator[](int i) const { return ToFloat(lane[i]); }
  __device__ void Set(int i, float x) { lane[i] = FromFloat<T>(x); }
};
template <class T>
inline constexpr int kLanes = Pack<T>::kLanes;

template <class T>
__device__ const Pack<T>* Packs(const T* p) {
  return reinterpret_cast<const Pack<T>*>(p);
}
template <class T>
__device__ Pack<T>* Packs(T* p) {
  return reinterpret_cast<Pack<T>*>(p);
}
// From here on the compiler takes the bits of a pack as new: it keeps those in registers, and not
// the elements, one a register, nor the floats that it has made of them.
template <class Packed>
__device__ void KeepPacked(Packed& packed) {
  static_assert(sizeof(Packed) % 4 == 0);
  auto* word = reinterpret_cast<uint32_t*>(&packed);
#pragma unroll
  for (size_t i = 0; i < sizeof(Packed) / 4; ++i) asm volatile("" : "+r"(word[i]));
}
// kLanes consecutive floats beside a pack of T: 16 bytes for fp32, 32 for 16-bit data.
template <int kCount>
struct Floats {
  float lane[kCount];
};
template <int kCount>
__device__ Floats<kCount> LoadFloats(const float* p) {
  static_assert(kCount % 4 == 0);
  Floats<kCount> out;
#pragma unroll
  for (int i = 0; i < kCount; i += 4)
    *reinterpret_cast<float4*>(out.lane + i) = *reinterpret_cast<const float4*>(p + i);
  return out;
}
template <int kCount>
__device__ void StoreFloats(float* p, const Floats<kCount>& in) {
#pragma unroll
  for (int i = 0; i < kCount; i += 4)
    *reinterpret_cast<float4*>(p + i) = *reinterpret_cast<const float4*>(in.lane + i);
}

__device__ inline float WarpSum(float x) {
#pragma unroll
  for (int mask = kWarp / 2; mask > 0; mask /= 2) x += __shfl_xor_sync(~0u, x, mask);
  return x;
}
__device__ inline float WarpMax(float x) {
#pragma unroll
  for (int mask = kWarp / 2; mask > 0; mask /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, mask));
  return x;
}

// The special function units' own results, within two units in the last place: full divisions and
// exponentials would make the arithmetic, not the memory, the limit.
__device__ inline float Reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float PowerOfTwo(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
inline constexpr float kLog2E = 1.4426950409f;

// Two values that are summed together.
struct Pair {
  float first;
  float second;
};
// Sums over the threads that share threadIdx.y, for all of them. A row of more than one warp must
// be the whole block, and all of its threads must call. `scratch` holds 32 pairs, which may not be
// those of the sum just before: another warp may still be reading them.
__device__ inline Pair RowSum(Pair x, Pair* scratch) {
  x = {WarpSum(x.first), WarpSum(x.second)};
  if (blockDim.x == kWarp) return x;
  if (threadIdx.x % kWarp == 0) scratch[threadIdx.x / kWarp] = x;
  __syncthreads();
  const unsigned lane = threadIdx.x % kWarp;
  x = lane < blockDim.x / kWarp ? scratch[lane] : Pair{0, 0};
  return {WarpSum(x.first), WarpSum(x.second)};
}

template <class T>
struct Tag {
  using Type = T;
};
// Calls `body` with the Tag of the C++ type of `dtype`.
template <class Body>
void Dispatch(DType dtype, Body&& body) {
  SHARDPLAN_CHECK(dtype != DType::kFloat8E4M3);  // for quantize.h and gemm.h alone
  if (dtype == DType::kFloat32) body(Tag<float>{});
  if (dtype == DType::kFloat16) body(Tag<__half>{});
  if (dtype == DType::kBFloat16) body(Tag<__nv_bfloat16>{});
}

// A launcher's untyped pointer as the type that Dispatch found.
template <class T>
const T* As(const void* p) {
  return static_cast<const T*>(p);
}
template <class T>
T* As(void* p) {
  return static_cast<T*>(p);
}

template <class T>
constexpr T CeilDiv(T a, T b) {
  return (a + b - 1) / b;
}
inline unsigned GridOf(int64_t items, int64_t per_block) {
  const int64_t blocks = CeilDiv(items, per_block);
  SHARDPLAN_CHECK(blocks > 0 && blocks < (int64_t{1} << 31));
  return static_cast<unsigned>(blocks);
}
inline int MultiprocessorCount() {
  int device = 0;
  int count = 0;
  SHARDPLAN_CHECK(cudaGetDevice(&device) == cudaSuccess);
  SHARDPLAN_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) ==
                  cudaSuccess);
  return count;
}
}  // namespace shardplan::kernels
