// SPDX-License-Identifier: Apache-2.0
// What the CUDA runtime returns, as an Error.
#pragma once
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "planner/base/result.h"

namespace shardplan::probe {

// "cudaMalloc: out of memory"
inline Result<void> Check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return {};
  const Code code =
      status == cudaErrorMemoryAllocation ? Code::kResourceExhausted : Code::kInternal;
  return tl::unexpected(Error{code, fmt::format("{}: {}", call, cudaGetErrorString(status))});
}
}  // namespace shardplan::probe
