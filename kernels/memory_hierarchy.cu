// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "kernels/device.cuh"
#include "kernels/memory_hierarchy.h"

namespace shardplan::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerMultiprocessor = 8;

// One addition a warp reaches *sum.
__device__ void AddUp(uint32_t value, uint32_t* sum) {
  value = __reduce_add_sync(~0u, value);
  if (threadIdx.x % kWarp == 0) atomicAdd(sum, value);
}

__global__ void __launch_bounds__(kThreads) CopyPacks(int64_t packs, const uint4* src, uint4* dst) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < packs) dst[i] = src[i];
}

__global__ void __launch_bounds__(kThreads)
    Strided(int64_t reads, int64_t stride, const uint32_t* in, uint32_t* sum) {
  uint32_t value = 0;
#pragma unroll 8
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < reads;
       i += int64_t{gridDim.x} * kThreads)
    value += in[i * stride];
  AddUp(value, sum);
}

__global__ void __launch_bounds__(kThreads)
    Pitched(int64_t rows, int columns, int64_t pitch, const uint32_t* in, uint32_t* sum) {
  uint32_t value = 0;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
#pragma unroll 4
    for (int c = threadIdx.x; c < columns; c += kThreads) value += in[row * pitch + c];
  AddUp(value, sum);
}

__global__ void __launch_bounds__(kThreads)
    Repeated(int64_t packs, int64_t passes, const uint4* in, uint32_t* sum) {
  uint32_t value = 0;
  for (int64_t pass = 0; pass < passes; ++pass)
#pragma unroll 8
    for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < packs;
         i += int64_t{gridDim.x} * kThreads) {
      const uint4 pack = __ldcg(in + i);
      value += pack.x + pack.y + pack.z + pack.w;
    }
  AddUp(value, sum);
}

__global__ void __launch_bounds__(kThreads) Shared(uint32_t stride, int64_t reads, uint32_t* sum) {
  __shared__ uint32_t words[kSharedWords];
  for (unsigned i = threadIdx.x; i < kSharedWords; i += kThreads) words[i] = i;
  __syncthreads();
  const volatile uint32_t* in = words;  // each read happens
  uint32_t value = 0;
  uint32_t at = threadIdx.x % kWarp * stride;
#pragma unroll 8
  for (int64_t i = 0; i < reads; ++i) {
    value += in[at % kSharedWords];
    at += kWarp;
  }
  AddUp(value, sum);
}

__constant__ uint32_t constant_words[kConstantWords];

__global__ void __launch_bounds__(kThreads)
    Constant(uint32_t spread, int64_t reads, uint32_t* sum) {
  uint32_t value = 0;
  uint32_t at = threadIdx.x % kWarp * spread;
#pragma unroll 8
  for (int64_t i = 0; i < reads; ++i) value += constant_words[at++ % kConstantWords];
  AddUp(value, sum);
}

__global__ void __launch_bounds__(kThreads)
    Textured(cudaTextureObject_t texture, int side, bool along_rows, uint32_t* sum) {
  uint32_t value = 0;
  for (int line = static_cast<int>(blockIdx.x); line < side; line += static_cast<int>(gridDim.x))
#pragma unroll 8
    for (int i = threadIdx.x; i < side; i += kThreads)
      value += along_rows ? tex2D<uint32_t>(texture, i, line) : tex2D<uint32_t>(texture, line, i);
  AddUp(value, sum);
}

// Eight chains a thread, more than the units' latency asks for.
__global__ void __launch_bounds__(kThreads) Compute(int64_t iterations, float* sum) {
  float chain[8];
  for (int j = 0; j < 8; ++j) chain[j] = static_cast<float>(threadIdx.x + j);
  for (int64_t i = 0; i < iterations; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) chain[j] = fmaf(chain[j], 0.5f, 1.f);
  float total = 0;
  for (int j = 0; j < 8; ++j) total += chain[j];
  if (total < 0) *sum = total;  // never: the chains tend to 2
}

unsigned FillingBlocks() {
  return static_cast<unsigned>(MultiprocessorCount() * kBlocksPerMultiprocessor);
}
int64_t FillingThreads() { return int64_t{FillingBlocks()} * kThreads; }

Error Failed(const char* what, cudaError_t status) {
  return {Code::kInternal, std::string("CUDA: ") + what + ": " + cudaGetErrorString(status)};
}
}  // namespace

int64_t CopyMemory(int64_t bytes, const void* src, void* dst, Stream stream) {
  SHARDPLAN_CHECK(bytes > 0 && bytes % 16 == 0);
  Launch(CopyPacks, GridOf(bytes / 16, kThreads), kThreads, stream, bytes / 16,
         static_cast<const uint4*>(src), static_cast<uint4*>(dst));
  return 2 * bytes;
}

int64_t ReadStrided(int64_t words, int64_t stride, const uint32_t* in, uint32_t* sum,
                    Stream stream) {
  SHARDPLAN_CHECK(stride > 0 && words >= stride);
  const int64_t reads = words / stride;
  Launch(Strided, FillingBlocks(), kThreads, stream, reads, stride, in, sum);
  return 4 * reads;
}

int64_t ReadPitched(int64_t rows, int64_t columns, int64_t pitch, const uint32_t* in, uint32_t* sum,
                    Stream stream) {
  SHARDPLAN_CHECK(columns > 0 && pitch >= columns);
  Launch(Pitched, FillingBlocks(), kThreads, stream, rows, static_cast<int>(columns), pitch, in,
         sum);
  return 4 * rows * columns;
}

int64_t ReadRepeatedly(int64_t bytes, int64_t passes, const void* in, uint32_t* sum,
                       Stream stream) {
  SHARDPLAN_CHECK(bytes > 0 && bytes % 16 == 0 && passes > 0);
  Launch(Repeated, FillingBlocks(), kThreads, stream, bytes / 16, passes,
         static_cast<const uint4*>(in), sum);
  return bytes * passes;
}

int64_t ReadShared(int64_t stride, int64_t reads, uint32_t* sum, Stream stream) {
  SHARDPLAN_CHECK(stride > 0 && stride <= kSharedWords && reads > 0);
  Launch(Shared, FillingBlocks(), kThreads, stream, static_cast<uint32_t>(stride), reads, sum);
  return 4 * reads * FillingThreads();
}

Result<void> FillConstant(Stream stream) {
  std::vector<uint32_t> words(kConstantWords);
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<uint32_t>(i);
  cudaError_t status = cudaMemcpyToSymbolAsync(constant_words, words.data(), sizeof(constant_words),
                                               0, cudaMemcpyHostToDevice, stream);
  if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
  if (status != cudaSuccess) return tl::unexpected(Failed("filling constant memory", status));
  return {};
}

int64_t ReadConstant(int64_t spread, int64_t reads, uint32_t* sum, Stream stream) {
  SHARDPLAN_CHECK(spread >= 0 && spread <= kConstantWords && reads > 0);
  Launch(Constant, FillingBlocks(), kThreads, stream, static_cast<uint32_t>(spread), reads, sum);
  return 4 * reads * FillingThreads();
}

struct Texture::Array {
  int side = 0;
  cudaArray_t array = nullptr;
  cudaTextureObject_t texture = 0;

  explicit Array(int64_t length) : side(static_cast<int>(length)) {}
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() {
    if (texture) cudaDestroyTextureObject(texture);
    if (array) cudaFreeArray(array);
  }
};

Texture::Texture(std::unique_ptr<Array> array) : array_(std::move(array)) {}
Texture::Texture(Texture&&) noexcept = default;
Texture& Texture::operator=(Texture&&) noexcept = default;
Texture::~Texture() = default;

Result<Texture> Texture::Make(int64_t side, const uint32_t* in, Stream stream) {
  SHARDPLAN_CHECK(side > 0 && side <= 65536);
  auto made = std::make_unique<Array>(side);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<uint32_t>();
  const auto width = static_cast<size_t>(side) * sizeof(uint32_t);
  cudaError_t status =
      cudaMallocArray(&made->array, &format, static_cast<size_t>(side), static_cast<size_t>(side));
  if (status == cudaSuccess)
    status = cudaMemcpy2DToArrayAsync(made->array, 0, 0, in, width, width,
                                      static_cast<size_t>(side), cudaMemcpyDeviceToDevice, stream);
  if (status == cudaSuccess) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = made->array;
    cudaTextureDesc description = {};
    description.readMode = cudaReadModeElementType;
    status = cudaCreateTextureObject(&made->texture, &resource, &description, nullptr);
  }
  if (status != cudaSuccess) return tl::unexpected(Failed("making a texture", status));
  return Texture(std::move(made));
}

int64_t Texture::Read(Along along, uint32_t* sum, Stream stream) const {
  Launch(Textured, FillingBlocks(), kThreads, stream, array_->texture, array_->side,
         along == Along::kRows, sum);
  return int64_t{4} * array_->side * array_->side;
}

int64_t ComputeOnly(int64_t iterations, float* sum, Stream stream) {
  Launch(Compute, FillingBlocks(), kThreads, stream, iterations, sum);
  return 2 * 8 * iterations * FillingThreads();
}
}  // namespace shardplan::kernels
