// SPDX-License-Identifier: Apache-2.0
// What NCCL's topology search would find for one group: what links carry, and how many channels.
//
// The search itself is not repeated. Its results on machines whose GPUs are all alike follow from
// the architecture and the link (NCCL 2.28.9), so they are looked up here.
#pragma once
#include "planner/machine/machine.h"
#include "planner/machine/nccl_settings.h"
#include "planner/machine/topology.h"

namespace shardplan {

struct Paths {
  Reach reach;
  Architecture architecture = Architecture::kHopper;
  bool nvlink = false;  // else PCIe or host memory inside the island
  bool ll128 = false, nvls = false, pat = false, gpu_direct = true;
  bool peers = true;  // GPUs of an island reach each other's memory, by whatever link
  // Bytes per second.
  double ring = 0;         // bus bandwidth of a ring inside the island
  double pair = 0;         // one GPU sending and receiving by the send/recv engine
  double nvls_wire = 0;    // of one GPU with multicast, before the cost per chunk
  double net = 0;          // of the NICs that the group has in one island
  double net_rank = 0;     // the same, of one rank that is alone in sending
  double net_latency = 0;  // seconds beyond what NCCL's tables hold (an InfiniBand hop)
  // The graph as the search finds it, before its channels are doubled to run.
  double graph_channels = 1, graph_bandwidth = 0;
  int channels = 1, nvls_channels = 0, p2p_channels = 1, p2p_per_peer = 1;
  int channels_per_net_peer = 2;
};

Paths PathsOf(const Machine& machine, const Reach& reach, const NcclKnobs& knobs);
}  // namespace shardplan
