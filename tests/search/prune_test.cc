// SPDX-License-Identifier: Apache-2.0
#include "planner/search/prune.h"

#include <gtest/gtest.h>

#include "planner/search/shortfall.h"
#include "tests/search/problems.h"

namespace shardplan {
namespace {
using testing::RandomProblem;

class PruningOfRandomProblems : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, PruningOfRandomProblems, ::testing::Range<std::uint64_t>(100, 124));

// What is pruned by a bound must not be better than the bound.
TEST_P(PruningOfRandomProblems, LeastTimesAreNeverAboveTheStep) {
  const auto problem = RandomProblem(GetParam());
  const Job& job = problem->job;
  const double rounding = 1 + 1e-12;
  for (const Sharding& sharding : problem->space->Shardings()) {
    const LayersCost layers = CostLayers(job, sharding);
    for (const Placement& placement : problem->space->Placements(sharding)) {
      const StageCost stage = CostStage(job, layers, sharding, placement);
      for (const Policy& policy : problem->space->Policies(sharding, placement)) {
        const Seconds step = CostStep(job, stage, policy).Time() * rounding;
        const Plan plan{sharding, placement, policy};
        ASSERT_LE(LeastTime(layers, problem->model, placement, policy.overlap), step) << Key(plan);
        ASSERT_LE(LeastTime(stage, policy.overlap), step) << Key(plan);
      }
    }
  }
}

// The search rejects what Bound says is short of memory; so must Evaluate, which finds no less
// than Weigh.
TEST_P(PruningOfRandomProblems, WhatIsShortIsOutOfMemory) {
  const auto problem = RandomProblem(GetParam());
  std::uint64_t visited = 0;
  testing::ForEachPlan(*problem->space, [&](const Plan& plan) {
    if (visited++ % 7 != 0) return;
    const Evaluation evaluation = Weigh(problem->job, plan);
    const bool is_short = ShortfallOf(problem->job, evaluation.step).missing.value > 0;
    ASSERT_EQ(is_short,
              evaluation.p_oom > 0.5 || evaluation.limit == "host" || evaluation.limit == "nvme")
        << Key(plan);
    if (evaluation.verdict == Verdict::kOom) {
      ASSERT_TRUE(is_short) << Key(plan);
    }
    const StepCost bound = Bound(problem->job, plan);
    if (ShortfallOf(problem->job, bound).missing.value > 0) {
      ASSERT_TRUE(is_short) << Key(plan);
    }
  });
}
}  // namespace
}  // namespace shardplan
