// SPDX-License-Identifier: Apache-2.0
#include "probe/cuda/nothing.h"

namespace shardplan::probe {
namespace {
__global__ void Nothing() {}
}  // namespace

cudaError_t LaunchNothing(cudaStream_t stream) {
  Nothing<<<1, 1, 0, stream>>>();
  return cudaGetLastError();
}
}  // namespace shardplan::probe
