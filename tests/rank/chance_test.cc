// SPDX-License-Identifier: Apache-2.0
#include "planner/rank/chance.h"

#include <gtest/gtest.h>

#include <numeric>

namespace shardplan {
namespace {

Ranked PlanOf(double compute, double expert_comm, double p_oom = 0) {
  Ranked plan;
  plan.evaluation.step.time[static_cast<std::size_t>(TimePart::kCompute)] = {compute};
  plan.evaluation.step.time[static_cast<std::size_t>(TimePart::kExpertComm)] = {expert_comm};
  plan.evaluation.p_oom = p_oom;
  return plan;
}

TEST(ChancesOfBest, AddUpToOneAndRepeat) {
  const std::vector<Ranked> plans = {PlanOf(1, 0), PlanOf(1.02, 0), PlanOf(0.9, 0.2), PlanOf(2, 0)};
  const std::vector<double> chances = ChancesOfBest(plans, {}, Objective::kThroughput);
  EXPECT_NEAR(std::accumulate(chances.begin(), chances.end(), 0.0), 1, 1e-12);
  EXPECT_EQ(chances, ChancesOfBest(plans, {}, Objective::kThroughput));
  EXPECT_GT(chances[0], chances[1]);
  EXPECT_EQ(chances[3], 0);
  EXPECT_TRUE(ChancesOfBest({}, {}, Objective::kThroughput).empty());
}

// Equal plans share the chance evenly: 2048 draws tell them apart by less than 5 %.
TEST(ChancesOfBest, DoNotPreferOneOfEqualPlans) {
  const std::vector<double> chances =
      ChancesOfBest({PlanOf(1, 0.1), PlanOf(1, 0.1)}, {}, Objective::kThroughput);
  EXPECT_NEAR(chances[0], 0.5, 0.05);
}

// A 10 % lead in what both plans do alike is certain; the same lead against traffic that may hide
// is not.
TEST(ChancesOfBest, SharedErrorsCancelAndOthersDoNot) {
  const double alike = ChancesOfBest({PlanOf(1, 0), PlanOf(1.1, 0)}, {}, Objective::kThroughput)[0];
  const double other =
      ChancesOfBest({PlanOf(1, 0), PlanOf(0.8, 0.3)}, {}, Objective::kThroughput)[0];
  EXPECT_GT(alike, 0.97);
  EXPECT_LT(other, 0.85);
}

TEST(ChancesOfBest, CountTheRiskOfRunningOutOfMemory) {
  const std::vector<double> chances =
      ChancesOfBest({PlanOf(1, 0), PlanOf(1, 0, 0.3)}, {}, Objective::kThroughput);
  EXPECT_GT(chances[0], 0.97);
}
}  // namespace
}  // namespace shardplan
