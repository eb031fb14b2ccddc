// SPDX-License-Identifier: Apache-2.0
// Where each device comes from: implemented in host/ and cuda/, or by device.cc as what is missing.
#pragma once
#include <memory>

#include "probe/device.h"

namespace shardplan::probe {
Result<std::unique_ptr<Device>> OpenHost(Watch& watch);
Result<std::unique_ptr<Device>> OpenCuda(int index, Watch& watch);
int CudaDevices();  // that this process sees
}  // namespace shardplan::probe
