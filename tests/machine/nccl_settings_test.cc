// SPDX-License-Identifier: Apache-2.0
#include "planner/machine/nccl_settings.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

NcclKnobs Knobs(const std::string& name, const std::string& value) {
  NcclSettings settings;
  settings.variables[name] = value;
  return KnobsOf(settings);
}

bool Allows(const NcclKnobs& knobs, Family family, Algorithm algorithm) {
  const auto bits = knobs.allowed[static_cast<std::size_t>(family)].algorithms;
  return ((bits >> static_cast<int>(algorithm)) & 1) != 0;
}

TEST(NcclSettings, AlgorithmsAreNamedForAllOperations) {
  const NcclKnobs knobs = Knobs("NCCL_ALGO", "Ring,Tree");
  EXPECT_TRUE(Allows(knobs, Family::kAllReduce, Algorithm::kRing));
  EXPECT_TRUE(Allows(knobs, Family::kGather, Algorithm::kTree));
  EXPECT_FALSE(Allows(knobs, Family::kAllReduce, Algorithm::kNvls));
}

TEST(NcclSettings, ACaretExcludes) {
  const NcclKnobs knobs = Knobs("NCCL_ALGO", "^NVLSTree");
  EXPECT_FALSE(Allows(knobs, Family::kAllReduce, Algorithm::kNvlsTree));
  EXPECT_TRUE(Allows(knobs, Family::kAllReduce, Algorithm::kNvls));
}

TEST(NcclSettings, AlgorithmsMayDifferByOperation) {
  const NcclKnobs knobs = Knobs("NCCL_ALGO", "allreduce:tree;allgather:ring");
  EXPECT_FALSE(Allows(knobs, Family::kAllReduce, Algorithm::kRing));
  EXPECT_FALSE(Allows(knobs, Family::kGather, Algorithm::kTree));
  EXPECT_TRUE(Allows(knobs, Family::kRooted, Algorithm::kTree));
}

TEST(NcclSettings, OldAndNewChannelLimitsBothHold) {
  NcclSettings settings;
  settings.variables = {{"NCCL_MAX_CTAS", "16"}, {"NCCL_MAX_NCHANNELS", "8"}};
  EXPECT_EQ(KnobsOf(settings).max_channels, 8);
}

TEST(NcclSettings, NvlsIsOffByVariableOrBySetting) {
  EXPECT_FALSE(Knobs("NCCL_NVLS_ENABLE", "0").nvls);
  EXPECT_FALSE(KnobsOf({.version = 2.28, .nvls = false, .variables = {}}).nvls);
  EXPECT_TRUE(Knobs("NCCL_NVLS_ENABLE", "2").nvls);
}

TEST(NcclSettings, WhatDoesNotParseIsNotSet) {
  EXPECT_EQ(Knobs("NCCL_MAX_CTAS", "many").max_channels, NcclKnobs().max_channels);
}

TEST(NcclSettings, UnknownVariablesAreIgnored) {
  EXPECT_EQ(Knobs("NCCL_DEBUG", "INFO").max_channels, NcclKnobs().max_channels);
}
}  // namespace
}  // namespace shardplan
