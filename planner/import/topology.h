// SPDX-License-Identifier: Apache-2.0
// Descriptions of a machine as the spec's cluster section: what drivers, NCCL, Slurm, Kubernetes
// and lspci say of nodes, GPUs, NVLinks and network cards.
//
// Each reader notes what it sees in NodeFacts; what several files say of one cluster is joined.
// What is degraded (a link narrower than it could be, GPUs without NVLink, a card far from its GPU)
// is a warning.
#pragma once
#include <string>
#include <vector>

#include "planner/import/detect.h"
#include "planner/import/draft.h"

namespace shardplan {

struct NodeFacts {
  int nodes = 0;          // 0: not told
  int gpus = 0;           // of a node
  std::string gpu_name;   // as the driver or the scheduler says it
  double gpu_memory = 0;  // bytes
  double power_limit_watts = 0;
  int nvlinks = -1;         // of one GPU; -1: not told
  int nics = 0;             // of a node
  double nic_rate = 0;      // bytes per second of one
  double host_memory = 0;   // bytes
  int scale_up_domain = 0;  // GPUs that NVLink joins, over nodes
  std::vector<std::string> warnings;
};

// Reads `text`, which is of `kind`, into `facts`; a fault is the draft's.
void ReadTopologyMatrix(const Placed& text, NodeFacts& facts, Draft& draft);
void ReadNvidiaSmi(const Placed& text, NodeFacts& facts, Draft& draft);
void ReadNcclTopology(const Placed& text, NodeFacts& facts, Draft& draft);
void ReadSlurmNodes(const Placed& text, NodeFacts& facts, Draft& draft);
void ReadSlurmTopology(const Placed& text, NodeFacts& facts, Draft& draft);
void ReadKubernetesNodes(const Placed& text, NodeFacts& facts, Draft& draft);
void ReadLspci(const Placed& text, NodeFacts& facts, Draft& draft);
void ReadClusterFile(FileKind kind, const Placed& text, NodeFacts& facts, Draft& draft);

// The cluster section, under what is set already; and the warnings.
void SetCluster(const NodeFacts& facts, Draft& draft);
}  // namespace shardplan
