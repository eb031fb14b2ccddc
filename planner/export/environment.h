// SPDX-License-Identifier: Apache-2.0
// Variables that a plan's prediction rests on.
#pragma once
#include <vector>

#include "planner/export/bundle.h"
#include "planner/export/job.h"

namespace shardplan {

// NCCL settings of the cluster and the allocator's, whatever the target.
std::vector<Variable> CommonVariables(const ExportJob& job);

// CUDA_DEVICE_MAX_CONNECTIONS as Megatron's start-up checks want it (rules M13, M14).
Variable DeviceConnections(const ExportJob& job, bool sharded_parameters);

// env.sh, which train.sh sources.
File EnvironmentFile(const std::vector<Variable>& variables);
}  // namespace shardplan
