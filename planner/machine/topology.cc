// SPDX-License-Identifier: Apache-2.0
#include "planner/machine/topology.h"

#include <algorithm>

#include "planner/base/check.h"

namespace shardplan {
namespace {

// Boards join up to 16 GPUs (DGX-2) inside one node. Where a node has fewer than such a domain, the
// job uses a part of the board; a larger domain is a rack and spans nodes.
constexpr int kLargestBoard = 16;

int CeilDivide(int a, int b) { return (a + b - 1) / b; }

// Members of a group that starts at rank 0 and lie within the first `span` ranks.
int MembersWithin(Group group, int span) {
  return std::clamp(CeilDivide(span, group.stride), 1, group.ranks);
}
}  // namespace

double Reach::RailsOfRank(double flows) const {
  const double own = std::max(1.0, nics_per_island / island_size);
  return std::min(own, nics_per_island / flows);
}

Reach ReachOf(const Machine& machine, Group group) {
  SHARDPLAN_CHECK(group.ranks >= 1 && group.stride >= 1);
  Reach reach;
  reach.ranks = group.ranks;
  const bool rack = machine.scale_up_domain > kLargestBoard;
  reach.island_size = std::max({1, machine.gpus_per_node, rack ? machine.scale_up_domain : 0});
  reach.per_island = MembersWithin(group, reach.island_size);
  reach.islands = CeilDivide(group.ranks, reach.per_island);
  reach.nodes = CeilDivide(group.ranks, MembersWithin(group, std::max(1, machine.gpus_per_node)));
  reach.domains =
      CeilDivide(reach.per_island, MembersWithin(group, std::max(1, machine.scale_up_domain)));
  reach.siblings = static_cast<double>(reach.island_size) / reach.per_island;
  reach.nics_per_island = static_cast<double>(machine.scale_out.nics) * reach.island_size /
                          std::max(1, machine.gpus_per_node);
  return reach;
}
}  // namespace shardplan
