// SPDX-License-Identifier: Apache-2.0
// A kernel that does nothing, to see what a launch takes.
#pragma once
#include <cuda_runtime_api.h>

namespace shardplan::probe {
cudaError_t LaunchNothing(cudaStream_t stream);
}  // namespace shardplan::probe
