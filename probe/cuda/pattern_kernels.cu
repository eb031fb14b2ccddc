// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>

#include "probe/cuda/pattern_kernels.h"
#include "probe/with_type.h"

namespace shardplan::probe {
namespace {

constexpr unsigned kThreads = 256, kMostBlocks = 4096;

unsigned BlocksFor(std::uint64_t count) {
  return static_cast<unsigned>(
      std::min<std::uint64_t>((count + kThreads - 1) / kThreads, kMostBlocks));
}

template <class T>
__device__ T Of(std::int64_t value) {
  return static_cast<T>(static_cast<float>(value));
}
template <>
__device__ std::int32_t Of<std::int32_t>(std::int64_t value) {
  return static_cast<std::int32_t>(value);
}
template <>
__device__ std::int64_t Of<std::int64_t>(std::int64_t value) {
  return value;
}
template <>
__device__ double Of<double>(std::int64_t value) {
  return static_cast<double>(value);
}

template <class T>
__device__ bool Same(T a, T b) {
  return static_cast<double>(static_cast<float>(a)) == static_cast<double>(static_cast<float>(b));
}
template <>
__device__ bool Same(std::int32_t a, std::int32_t b) {
  return a == b;
}
template <>
__device__ bool Same(std::int64_t a, std::int64_t b) {
  return a == b;
}
template <>
__device__ bool Same(double a, double b) {
  return a == b;
}

template <class T>
__global__ void Fill(T* array, Pattern pattern, Span span) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < span.count;
       i += stride)
    array[span.begin + i] = Of<T>(ElementOf(pattern, span, i));
}

template <class T>
__global__ void CountWrong(const T* array, Pattern pattern, Span span, unsigned long long* wrong) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  unsigned long long mine = 0;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < span.count;
       i += stride)
    if (!Same(array[span.begin + i], Of<T>(ElementOf(pattern, span, i)))) ++mine;
  if (mine > 0) atomicAdd(wrong, mine);
}

struct Small {
  using Half = __half;
  using Brain = __nv_bfloat16;
  using Eight = __nv_fp8_e4m3;
};
}  // namespace

cudaError_t LaunchFill(void* array, Dtype dtype, const Pattern& pattern, const Span& span,
                       cudaStream_t stream) {
  return WithType<Small>(dtype, [&]<class T>(T*) {
    Fill<<<BlocksFor(span.count), kThreads, 0, stream>>>(static_cast<T*>(array), pattern, span);
    return cudaGetLastError();
  });
}

cudaError_t LaunchCountWrong(const void* array, Dtype dtype, const Pattern& pattern,
                             const Span& span, unsigned long long* wrong, cudaStream_t stream) {
  return WithType<Small>(dtype, [&]<class T>(T*) {
    CountWrong<<<BlocksFor(span.count), kThreads, 0, stream>>>(static_cast<const T*>(array),
                                                               pattern, span, wrong);
    return cudaGetLastError();
  });
}
}  // namespace shardplan::probe
