// SPDX-License-Identifier: Apache-2.0
#include "probe/cuda/operands.h"

#include "kernels/random_fill.h"
#include "probe/cuda/cuda_error.h"

namespace shardplan::probe {

void* Operands::Room(std::int64_t bytes) {
  if (error_) return nullptr;
  Result<Buffer> buffer = device_.Allocate(static_cast<std::size_t>(bytes), Place::kDevice);
  if (!buffer) {
    error_ = buffer.error();
    return nullptr;
  }
  held_.push_back(std::move(*buffer));
  return held_.back().at();
}

void* Operands::Normal(std::int64_t elements, kernels::DType dtype) {
  void* memory = Room(elements * kernels::SizeOf(dtype));
  if (memory != nullptr) kernels::FillNormal(elements, dtype, held_.size(), memory, nullptr);
  return memory;
}

std::int32_t* Operands::Integers(std::int64_t elements, std::int32_t below) {
  auto* memory = static_cast<std::int32_t*>(Room(elements * 4));
  if (memory != nullptr) kernels::FillIntegers(elements, below, held_.size(), memory, nullptr);
  return memory;
}

void Operands::Write(void* to, const void* from, std::size_t bytes) {
  if (error_) return;
  const auto done = Check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  if (!done) error_ = done.error();
}

Result<std::shared_ptr<void>> Operands::Ready() {
  if (error_) return tl::unexpected(*error_);
  if (const auto filled = Check(cudaDeviceSynchronize(), "filling operands"); !filled)
    return tl::unexpected(filled.error());
  return std::make_shared<std::vector<Buffer>>(std::move(held_));
}

std::optional<kernels::DType> KernelType(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFp32:
      return kernels::DType::kFloat32;
    case Dtype::kFp16:
      return kernels::DType::kFloat16;
    case Dtype::kBf16:
      return kernels::DType::kBFloat16;
    default:
      return std::nullopt;
  }
}

Work LaunchWork(std::shared_ptr<void> operands, std::function<void(cudaStream_t)> launch) {
  return [operands = std::move(operands), launch = std::move(launch)](Stream& stream) {
    launch(CudaStream::Of(stream));
    return Check(cudaGetLastError(), "launching a kernel");
  };
}
}  // namespace shardplan::probe
