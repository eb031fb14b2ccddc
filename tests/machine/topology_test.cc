// SPDX-License-Identifier: Apache-2.0
#include "planner/machine/topology.h"

#include <gtest/gtest.h>

#include "tests/machine/machines.h"

namespace shardplan {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): they hold literals alone

TEST(Reach, GroupInsideOneNode) {
  const Reach reach = ReachOf(DgxH100(4), {.ranks = 8});
  EXPECT_EQ(reach.islands, 1);
  EXPECT_EQ(reach.per_island, 8);
  EXPECT_FALSE(reach.crosses_nodes());
}

TEST(Reach, OneRankPerNodeLeavesARailToEachGroup) {
  const Reach reach = ReachOf(DgxH100(16), {.ranks = 16, .stride = 8});
  EXPECT_EQ(reach.nodes, 16);
  EXPECT_EQ(reach.per_island, 1);
  EXPECT_EQ(reach.siblings, 8);
  EXPECT_EQ(reach.Rails(), 1);
}

TEST(Reach, TwoRanksPerNodeShareTwoRails) {
  const Reach reach = ReachOf(DgxH100(16), {.ranks = 32, .stride = 4});
  EXPECT_EQ(reach.per_island, 2);
  EXPECT_EQ(reach.nodes, 16);
  EXPECT_EQ(reach.Rails(), 2);
}

TEST(Reach, WholeNodesUseAllRails) { EXPECT_EQ(ReachOf(DgxH100(16), {.ranks = 128}).Rails(), 8); }

TEST(Reach, ManyGroupsShareOneNic) {
  Machine machine = DgxH100(2);
  machine.scale_out = NetworkOf("infiniband", 2, 50_GBps);
  EXPECT_EQ(ReachOf(machine, {.ranks = 2, .stride = 8}).Rails(), 0.25);
}

TEST(Reach, ARankThatAloneLeavesItsNodeHasOneNic) {
  // A pipeline over whole nodes by stride 1: one rank of eight sends out of the node.
  const Reach whole = ReachOf(DgxH100(2), {.ranks = 16});
  EXPECT_EQ(whole.RailsOfRank(whole.siblings), 1);
  // With all eight ranks of a node sending, each still has its own.
  const Reach pairs = ReachOf(DgxH100(2), {.ranks = 2, .stride = 8});
  EXPECT_EQ(pairs.RailsOfRank(pairs.siblings), 1);
}

TEST(Reach, Nvl72IsOneIslandOfEighteenNodes) {
  const Reach reach = ReachOf(Nvl72(), {.ranks = 72});
  EXPECT_EQ(reach.islands, 1);
  EXPECT_EQ(reach.nodes, 18);
  EXPECT_TRUE(reach.crosses_nodes());
  EXPECT_FALSE(reach.crosses_islands());
}

TEST(Reach, TwoRacksAreTwoIslands) {
  const Reach reach = ReachOf(Nvl72(2), {.ranks = 144});
  EXPECT_EQ(reach.islands, 2);
  EXPECT_EQ(reach.nodes, 36);
  EXPECT_EQ(reach.Rails(), 72);
}

TEST(Reach, StrideCountsRanksWithinARack) {
  const Reach reach = ReachOf(Nvl72(2), {.ranks = 36, .stride = 4});
  EXPECT_EQ(reach.per_island, 18);
  EXPECT_EQ(reach.islands, 2);
  EXPECT_EQ(reach.siblings, 4);
}

// Half-used DGX nodes do not merge over NVLink, though the domain is larger than the node.
TEST(Reach, ABoardDoesNotSpanNodes) {
  Machine machine = DgxH100(2);
  machine.gpus_per_node = 4;
  const Reach reach = ReachOf(machine, {.ranks = 8});
  EXPECT_EQ(reach.islands, 2);
  EXPECT_EQ(reach.per_island, 4);
}

TEST(Reach, BridgedPairsAreSeveralDomainsOfANode) {
  Machine machine = DgxH100(1);
  machine.scale_up_domain = 2;
  EXPECT_EQ(ReachOf(machine, {.ranks = 8}).domains, 4);
  EXPECT_EQ(ReachOf(machine, {.ranks = 2}).domains, 1);
}
}  // namespace
}  // namespace shardplan
