// SPDX-License-Identifier: Apache-2.0
#include "tests/evidence/host_collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/evidence/statistics.h"

namespace shardplan::evidence {
namespace {

class HostCollectives : public ::testing::TestWithParam<const char*> {};

// Links are shared by all that happens on the machine: a size in thirty may have been disturbed.
TEST_P(HostCollectives, OfOtherSizesAreWithinFifteenPercent) {
  const std::string stem =
      SHARDPLAN_SOURCE_DIR "/tests/evidence/host-collectives/" + std::string(GetParam());
  const auto predicted = PredictFromProfile(stem + ".profile.jsonl", stem + ".truth.jsonl");
  ASSERT_TRUE(predicted) << predicted.error().message;
  ASSERT_EQ(predicted->size(), 28U);
  std::vector<double> errors;
  int beyond = 0;
  for (const PredictedCollective& one : *predicted) {
    errors.push_back(one.Error());
    beyond += std::abs(one.Error()) > 0.15;
  }
  EXPECT_LE(ErrorsOf(errors).median, 0.05);
  EXPECT_LE(beyond, 1);
}
INSTANTIATE_TEST_SUITE_P(ShapedLinks, HostCollectives,
                         ::testing::Values("equal", "slow-link", "two-nodes"));
}  // namespace
}  // namespace shardplan::evidence
