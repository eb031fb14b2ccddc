// SPDX-License-Identifier: Apache-2.0
// How a group of ranks lies on the machine: which tiers it crosses and what it shares.
//
// NCCL searches its graphs over one *island* at a time: a node, or the NVLink domain where that
// spans nodes (NVL72: more than 16 GPUs; smaller domains are boards inside a node). Inside an
// island ranks meet over scale-up links (or PCIe beyond a domain smaller than the node); between
// islands there are only NICs.
#pragma once
#include "planner/base/quantity.h"
#include "planner/machine/machine.h"

namespace shardplan {

// `ranks` ranks, `stride` apart in the global rank order (rank r lives on node r / gpus_per_node).
// When such groups tile the machine, all of them run at once and share NICs.
struct Group {
  int ranks = 1;
  int stride = 1;
  bool operator==(const Group&) const = default;
};

struct Reach {
  int ranks = 1;
  int islands = 1;             // that the group spans
  int per_island = 1;          // ranks of the group in one island
  int island_size = 1;         // GPUs of one island, of any group
  int nodes = 1;               // that the group spans
  int domains = 1;             // NVLink (xGMI, PCIe) domains that one island's ranks lie in
  double siblings = 1;         // groups of this shape that lie in one island and run at once
  double nics_per_island = 0;  // of all GPUs there
  bool crosses_nodes() const { return nodes > 1; }
  bool crosses_islands() const { return islands > 1; }
  // NICs that one group can use in one island, its siblings using theirs.
  double Rails() const { return nics_per_island / siblings; }
  // NICs that one rank's own traffic can use when `flows` ranks of each island send at once: not
  // fewer than one (or the share of one), not more than lie at its GPU.
  double RailsOfRank(double flows) const;
};

// REQUIRES: group.ranks >= 1, group.stride >= 1.
Reach ReachOf(const Machine& machine, Group group);
}  // namespace shardplan
