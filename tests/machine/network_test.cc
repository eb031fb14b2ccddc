// SPDX-License-Identifier: Apache-2.0
#include "planner/machine/network.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): they hold literals alone

TEST(Network, EveryKindLosesALittleAndTakesTime) {
  for (const NetworkKind& kind : NetworkKinds()) {
    EXPECT_GT(kind.efficiency, 0.3) << kind.name;
    EXPECT_LT(kind.efficiency, 1) << kind.name;
    EXPECT_GE(kind.latency, 1_us) << kind.name;
    EXPECT_EQ(FindNetworkKind(kind.name), &kind);
  }
}

TEST(Network, UnknownKindsAreNotFound) { EXPECT_EQ(FindNetworkKind("token-ring"), nullptr); }

TEST(Network, ScaleOutTakesTheKindsFigures) {
  const ScaleOut out = NetworkOf("infiniband", 8, 50_GBps);
  EXPECT_EQ(out.nics, 8);
  EXPECT_EQ(out.efficiency, FindNetworkKind("infiniband")->efficiency);
  EXPECT_NEAR(out.PerNode().value, 382e9, 1e9);
}
}  // namespace
}  // namespace shardplan
