// SPDX-License-Identifier: Apache-2.0
// Launches a kernel, and notes it where ResourcesOf (launch.h) listens.
#pragma once
#include <cuda_runtime.h>

#include "kernels/stream.h"

namespace shardplan::kernels {

void NoteLaunch(const void* kernel, dim3 block);

template <class... Parameters, class... Arguments>
void Launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, Stream stream,
            const Arguments&... arguments) {
  NoteLaunch(reinterpret_cast<const void*>(kernel), block);
  kernel<<<grid, block, 0, stream>>>(arguments...);
}
}  // namespace shardplan::kernels
