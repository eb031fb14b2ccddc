// SPDX-License-Identifier: Apache-2.0
#include "planner/search/hint.h"

#include <gmock/gmock.h>

#include "tests/search/problems.h"

namespace shardplan {
namespace {
using testing::SearchProblem;

struct Llama70bOn : SearchProblem {
  explicit Llama70bOn(int nodes) {
    model = testing::Llama70b();
    machine = testing::DgxH100(nodes);
    training = testing::TrainingOf(FrameworkId::kMegatron, 8192, 128);
  }
};

Plan PlanOf(const SearchProblem& problem) {
  return FixedPlan(problem.model, problem.machine, problem.training, problem.wishes);
}

TEST(Hints, NameTheOneChoiceThatHelps) {
  Llama70bOn problem(4);
  problem.wishes.tp = {8};
  problem.wishes.pp = {4};
  problem.wishes.micro_batch_size = {4};
  problem.Bind();
  const Plan plan = PlanOf(problem);
  ASSERT_EQ(Evaluate(problem.job, plan).verdict, Verdict::kOom);
  const std::vector<Hint> hints = HintsFor(problem.job, plan, {});
  ASSERT_FALSE(hints.empty());
  for (const Hint& hint : hints) {
    EXPECT_NE(hint.evaluation.verdict, Verdict::kOom);
    EXPECT_LE(hint.changes.size(), 2u);
    EXPECT_TRUE(BrokenRules(problem.model, problem.machine, problem.training, hint.evaluation.plan)
                    .empty());
  }
  std::vector<std::string> all;
  for (const Hint& hint : hints) all.insert(all.end(), hint.changes.begin(), hint.changes.end());
  EXPECT_THAT(all,
              ::testing::Contains(::testing::AnyOf("recompute: full", "recompute: selective",
                                                   "micro_batch_size: 1", "micro_batch_size: 2")));
}

TEST(Hints, LetAllWishesGoWhereNoSingleOneHelps) {
  Llama70bOn problem(4);
  problem.wishes.tp = {1};
  problem.wishes.pp = {1};
  problem.wishes.zero_stage = {0};
  problem.wishes.recompute = {{}};
  problem.Bind();
  const std::vector<Hint> hints = HintsFor(problem.job, PlanOf(problem), {});
  ASSERT_EQ(hints.size(), 1u);
  EXPECT_GT(hints.front().changes.size(), 1u);
  EXPECT_NE(hints.front().evaluation.verdict, Verdict::kOom);
}

TEST(Hints, AddNodesWhereNothingElseHelps) {
  Llama70bOn problem(1);
  problem.machine.host.memory = {0.9e12};  // for checkpoints, not for offloaded states
  problem.training.global_batch_size = 1024;
  problem.Bind();
  const std::vector<Hint> hints = HintsFor(problem.job, problem.wishes, {});
  ASSERT_EQ(hints.size(), 1u);
  EXPECT_THAT(hints.front().changes.front(), ::testing::StartsWith("nodes: "));
}
}  // namespace
}  // namespace shardplan
