// SPDX-License-Identifier: Apache-2.0
// Machines that the tests of this directory ask about.
#pragma once
#include <string>
#include <string_view>

#include "planner/machine/machine.h"
#include "planner/machine/network.h"

namespace shardplan {

inline Machine Dgx(Architecture architecture, int nodes) {
  using namespace literals;  // NOLINT(google-build-using-namespace)
  Machine machine;
  machine.nodes = nodes;
  machine.gpu.architecture = architecture;
  machine.scale_up.fabric = Fabric::kSwitch;
  switch (architecture) {
    case Architecture::kVolta:
      machine.gpu.nvlinks = 6;
      machine.gpu.pcie_gen = 3;
      machine.scale_up.bandwidth = 150_GBps;
      machine.scale_up.fabric = Fabric::kMesh;
      machine.scale_out = NetworkOf("infiniband", 4, BytesPerSecond{12.5e9});
      break;
    case Architecture::kAmpere:
      machine.gpu.nvlinks = 12;
      machine.gpu.pcie_gen = 4;
      machine.scale_up.bandwidth = 300_GBps;
      machine.scale_out = NetworkOf("infiniband", 8, 25_GBps);
      break;
    case Architecture::kCdna:
      machine.scale_up.bandwidth = 448_GBps;
      machine.scale_up.fabric = Fabric::kMesh;
      machine.scale_out = NetworkOf("roce", 8, 50_GBps);
      break;
    case Architecture::kBlackwell:
      machine.gpu.nvlinks = 18;
      machine.scale_up.bandwidth = 900_GBps;
      machine.scale_out = NetworkOf("infiniband", 8, 50_GBps);
      break;
    default:
      machine.gpu.nvlinks = 18;
      machine.scale_up.bandwidth = 450_GBps;
      machine.scale_out = NetworkOf("infiniband", 8, 50_GBps);
      break;
  }
  return machine;
}

inline Machine DgxH100(int nodes = 1) { return Dgx(Architecture::kHopper, nodes); }

// One rack after another of 18 trays with 4 GPUs.
inline Machine Nvl72(int racks = 1) {
  using namespace literals;  // NOLINT(google-build-using-namespace)
  Machine machine = Dgx(Architecture::kBlackwell, 18 * racks);
  machine.gpus_per_node = 4;
  machine.scale_up_domain = 72;
  machine.scale_out = NetworkOf("infiniband", 4, 50_GBps);
  return machine;
}

inline Machine PcieBox(int gpus, double generation, bool peer_to_peer) {
  Machine machine;
  machine.gpus_per_node = gpus;
  machine.scale_up_domain = 1;
  machine.gpu.architecture = Architecture::kAda;
  machine.gpu.pcie_gen = generation;
  machine.scale_up = {.kind = "pcie",
                      .fabric = Fabric::kPcie,
                      .bandwidth = {},
                      .latency = {2e-6},
                      .peer_to_peer = peer_to_peer};
  return machine;
}

inline Machine With(Machine machine, const std::string& variable, const std::string& value) {
  machine.nccl.variables[variable] = value;
  return machine;
}
}  // namespace shardplan
