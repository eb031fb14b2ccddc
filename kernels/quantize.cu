// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp8.h>

#include "kernels/device.cuh"
#include "kernels/quantize.h"

namespace shardplan::kernels {
namespace {

constexpr int kThreads = 256;
// Elements that a thread changes at once: a 16-byte pack of 16-bit data, two of fp32.
constexpr int kGroup = 8;

template <class T>
struct alignas(std::min<size_t>(16, sizeof(T) * kGroup)) Group {
  T lane[kGroup];
};

template <class From, class To>
__global__ void __launch_bounds__(kThreads) CastGroups(int64_t elements, const From* x, To* y) {
  const int64_t start = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * kGroup;
  if (start + kGroup <= elements) {
    const auto in = *reinterpret_cast<const Group<From>*>(x + start);
    Group<To> out;
    for (int j = 0; j < kGroup; ++j) out.lane[j] = FromFloat<To>(ToFloat(in.lane[j]));
    *reinterpret_cast<Group<To>*>(y + start) = out;
  } else {
    for (int64_t i = start; i < elements; ++i) y[i] = FromFloat<To>(ToFloat(x[i]));
  }
}

// A float that is not negative orders as its bits do.
__device__ void GrowTo(float* amax, float value) {
  atomicMax(reinterpret_cast<int*>(amax), __float_as_int(value));
}

// Largest magnitude over the block's threads, put into *amax by one of them.
__device__ void GrowByBlock(float* amax, float largest) {
  __shared__ float warps[kThreads / kWarp];
  largest = WarpMax(largest);
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = largest;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (float other : warps) largest = fmaxf(largest, other);
  GrowTo(amax, largest);
}

// Blocks stride over the groups of kGroup elements, so that few atomics reach *amax.
template <class T, bool kWrite>
__global__ void __launch_bounds__(kThreads)
    ScaleToFp8(int64_t elements, const T* x, const float* scale, __nv_fp8_e4m3* y, float* amax) {
  const float factor = kWrite ? *scale : 0.f;
  float largest = 0;
  const int64_t groups = elements / kGroup;
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  const int64_t first = int64_t{blockIdx.x} * kThreads + threadIdx.x;
#pragma unroll 4
  for (int64_t g = first; g < groups; g += stride) {
    const auto in = *reinterpret_cast<const Group<T>*>(x + g * kGroup);
    Group<__nv_fp8_e4m3> out;
    for (int j = 0; j < kGroup; ++j) {
      const float value = ToFloat(in.lane[j]);
      largest = fmaxf(largest, fabsf(value));
      if (kWrite) out.lane[j] = __nv_fp8_e4m3(value * factor);  // saturates
    }
    if (kWrite) *reinterpret_cast<Group<__nv_fp8_e4m3>*>(y + g * kGroup) = out;
  }
  const int64_t tail = groups * kGroup + first;
  if (tail < elements) {
    const float value = ToFloat(x[tail]);
    largest = fmaxf(largest, fabsf(value));
    if (kWrite) y[tail] = __nv_fp8_e4m3(value * factor);
  }
  GrowByBlock(amax, largest);
}

// A warp a block of kInt8Block = 32 * kGroup elements.
template <class T>
__global__ void __launch_bounds__(kThreads)
    ToInt8(int64_t blocks, const T* x, int8_t* y, float* scales) {
  const int64_t block = int64_t{blockIdx.x} * (kThreads / kWarp) + threadIdx.y;
  if (block >= blocks) return;
  const int64_t start = block * kInt8Block + threadIdx.x * kGroup;
  const auto in = *reinterpret_cast<const Group<T>*>(x + start);
  float largest = 0;
  for (int j = 0; j < kGroup; ++j) largest = fmaxf(largest, fabsf(ToFloat(in.lane[j])));
  largest = WarpMax(largest);
  const float scale = largest / 127.f;
  const float steps = scale > 0 ? 1.f / scale : 0.f;
  Group<int8_t> out;
  for (int j = 0; j < kGroup; ++j)
    out.lane[j] = static_cast<int8_t>(__float2int_rn(ToFloat(in.lane[j]) * steps));
  *reinterpret_cast<Group<int8_t>*>(y + start) = out;
  if (threadIdx.x == 0) scales[block] = scale;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    FromInt8(int64_t elements, const int8_t* y, const float* scales, T* x) {
  struct alignas(kLanes<T>) In {
    int8_t lane[kLanes<T>];
  };
  const int64_t start = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * kLanes<T>;
  if (start >= elements) return;
  const auto in = *reinterpret_cast<const In*>(y + start);
  const float scale = scales[start / kInt8Block];
  Pack<T> out;
  for (int j = 0; j < kLanes<T>; ++j) out.Set(j, in.lane[j] * scale);
  *Packs(x + start) = out;
}

unsigned StridingBlocks(int64_t elements) {
  const int64_t fill = 8 * MultiprocessorCount();
  return static_cast<unsigned>(std::min<int64_t>(fill, GridOf(elements, kThreads * kGroup)));
}
}  // namespace

void Cast(int64_t elements, DType from, const void* x, DType to, void* y, Stream stream) {
  const unsigned blocks = GridOf(elements, kThreads * kGroup);
  Dispatch(from, [&](auto from_tag) {
    using From = typename decltype(from_tag)::Type;
    Dispatch(to, [&](auto to_tag) {
      using To = typename decltype(to_tag)::Type;
      Launch(CastGroups<From, To>, blocks, kThreads, stream, elements, As<From>(x), As<To>(y));
    });
  });
}

void Amax(int64_t elements, DType dtype, const void* x, float* amax, Stream stream) {
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(ScaleToFp8<T, false>, StridingBlocks(elements), kThreads, stream, elements, As<T>(x),
           nullptr, nullptr, amax);
  });
}

void QuantizeFp8(int64_t elements, DType dtype, const void* x, const float* scale, void* y,
                 float* amax, Stream stream) {
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(ScaleToFp8<T, true>, StridingBlocks(elements), kThreads, stream, elements, As<T>(x),
           scale, As<__nv_fp8_e4m3>(y), amax);
  });
}

void QuantizeInt8(int64_t elements, DType dtype, const void* x, int8_t* y, float* scales,
                  Stream stream) {
  SHARDPLAN_CHECK(elements > 0 && elements % kInt8Block == 0);
  const int64_t blocks = elements / kInt8Block;
  const dim3 block(kWarp, kThreads / kWarp);
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(ToInt8<T>, GridOf(blocks, block.y), block, stream, blocks, As<T>(x), y, scales);
  });
}

void DequantizeInt8(int64_t elements, DType dtype, const int8_t* y, const float* scales, void* x,
                    Stream stream) {
  SHARDPLAN_CHECK(elements > 0 && elements % kInt8Block == 0);
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(FromInt8<T>, GridOf(elements, kThreads * kLanes<T>), kThreads, stream, elements, y,
           scales, As<T>(x));
  });
}
}  // namespace shardplan::kernels
