// SPDX-License-Identifier: Apache-2.0
// Device memory for the operands of one kernel, filled with random numbers.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "kernels/dtype.h"
#include "probe/cuda/cuda_device.h"

namespace shardplan::probe {

// Asks for memory piece by piece. The first failure sticks, and Ready reports it; until then the
// pointers may be null.
class Operands {
 public:
  explicit Operands(CudaDevice& device) : device_(device) {}
  void* Room(std::int64_t bytes);
  void* Normal(std::int64_t elements, kernels::DType dtype);
  float* Floats(std::int64_t elements) {
    return static_cast<float*>(Normal(elements, kernels::DType::kFloat32));
  }
  std::int32_t* Integers(std::int64_t elements, std::int32_t below);
  // The values of `host`, on the device.
  template <class T>
  T* Upload(const std::vector<T>& host) {
    auto* to = static_cast<T*>(Room(static_cast<std::int64_t>(host.size() * sizeof(T))));
    Write(to, host.data(), host.size() * sizeof(T));
    return to;
  }
  // What keeps the memory alive, once all of it is filled.
  Result<std::shared_ptr<void>> Ready();

 private:
  void Write(void* to, const void* from, std::size_t bytes);
  CudaDevice& device_;
  std::vector<Buffer> held_;
  std::optional<Error> error_;
};

// The format that kernels/ knows, where it knows it.
std::optional<kernels::DType> KernelType(Dtype dtype);
// `launch` as Work that keeps `operands` alive and reports a launch that was refused.
Work LaunchWork(std::shared_ptr<void> operands, std::function<void(cudaStream_t)> launch);
}  // namespace shardplan::probe
