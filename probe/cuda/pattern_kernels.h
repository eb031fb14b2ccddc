// SPDX-License-Identifier: Apache-2.0
// Writes and checks the data of collectives on the GPU. Formats are those of dtype.h; values are
// small whole numbers, which all of them hold exactly.
#pragma once
#include <cuda_runtime_api.h>

#include "probe/dtype.h"
#include "probe/pattern.h"

namespace shardplan::probe {

cudaError_t LaunchFill(void* array, Dtype dtype, const Pattern& pattern, const Span& span,
                       cudaStream_t stream);
// Adds the number of elements that differ to *wrong, which the GPU must reach.
cudaError_t LaunchCountWrong(const void* array, Dtype dtype, const Pattern& pattern,
                             const Span& span, unsigned long long* wrong, cudaStream_t stream);
}  // namespace shardplan::probe
