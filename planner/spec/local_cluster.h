// SPDX-License-Identifier: Apache-2.0
// `cluster: local`: the section that describes this machine.
//
// GPUs by NVML, looked up in configs/gpus by name and memory; without any, the host itself as the
// device that `shardplan-probe --device=host` measures. Memory and network cards by /proc and /sys.
// What no file of this machine tells comes from the catalogue, or is a stated guess that a profile
// replaces.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "planner/spec/catalogue.h"
#include "shardplan/v1/machine.pb.h"

namespace shardplan {

// A GPU as NVML names it.
struct LocalGpu {
  std::string name;  // "NVIDIA H100 80GB HBM3"
  double memory = 0;
  double power_limit_watts = 0;  // 0: unknown
};
// Empty without driver or GPUs.
std::vector<LocalGpu> LocalGpus();

// Pure: the catalogue entry, of those with their memory, that `gpu` is; empty where none is.
std::string EntryOf(const LocalGpu& gpu,
                    const std::vector<std::pair<std::string, double>>& entries);

// An error, at `from`, names a GPU that the catalogue does not know.
Result<v1::Cluster> LocalCluster(const Reference& from);
}  // namespace shardplan
