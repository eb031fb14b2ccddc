// SPDX-License-Identifier: Apache-2.0
// Diffs between plans of one job.
#include <gmock/gmock.h>

#include <random>

#include "planner/report/plan_diff.h"
#include "planner/search/search.h"
#include "tests/import/import_fixtures.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kJob[] = R"(model: {preset: llama-2-7b}
cluster: {preset: dgx-a100, nodes: 2}
train: {framework: megatron, seq_length: 4096, global_batch_size: 64}
)";

class Diffs : public ::testing::Test {
 protected:
  Diffs()
      : problem_(*ParseProblem(kJob, "job.yaml", {}, Needs::kAll)),
        job_(MakeJob(problem_.model, problem_.machine, problem_.training, {})),
        plans_(Search(job_,
                      Space(problem_.model, problem_.machine, problem_.training, problem_.wishes),
                      {.keep = 200})
                   .plans) {}
  PlanDiff Between(const Plan& a, const Plan& b) const {
    return DiffPlans({"a", &job_, a, {}}, {"b", &job_, b, {}}, KeysOfPlan);
  }
  const Plan& At(std::size_t i) const { return plans_[i % plans_.size()].evaluation.plan; }

  const Problem problem_;
  const Job job_;
  const std::vector<Ranked> plans_;
};

// Whatever the two plans, the last line is B, to the bit, and the way there changes what differs.
TEST_F(Diffs, EndAtTheOtherPlan) {
  ASSERT_GT(plans_.size(), 20u);
  std::mt19937_64 random(1);
  for (int i = 0; i < 60; ++i) {
    const Plan &a = At(random()), &b = At(random());
    const PlanDiff diff = Between(a, b);
    if (a == b) {
      EXPECT_TRUE(diff.steps.empty());
      continue;
    }
    ASSERT_FALSE(diff.steps.empty());
    const DiffStep& last = diff.steps.back();
    ASSERT_TRUE(last.evaluation.has_value());
    EXPECT_EQ(last.evaluation->plan, b);
    EXPECT_EQ(last.evaluation->step.Time().value, Evaluate(job_, b).step.Time().value);
    for (const DiffStep& step : diff.steps) EXPECT_FALSE(step.flags.empty());
  }
}

TEST_F(Diffs, OfAPlanWithItselfAreEmpty) {
  const PlanDiff diff = Between(At(0), At(0));
  EXPECT_THAT(diff.steps, SizeIs(0));
  EXPECT_THAT(DiffReport(diff, {}),
              HasSubstr("no changes: both are the same plan of the same job\n"));
}

TEST_F(Diffs, SayWhichSettingsChange) {
  Plan a = At(0), b = a;
  a.sharding.recompute.kind = RecomputeKind::kNone;
  b.sharding.recompute.kind = RecomputeKind::kFull;
  const PlanDiff diff = Between(a, b);
  ASSERT_THAT(diff.steps, SizeIs(1));
  ASSERT_THAT(diff.steps[0].flags, SizeIs(1));
  EXPECT_EQ(diff.steps[0].flags[0].name, "plan.recompute");
  EXPECT_THAT(DiffReport(diff, {}), HasSubstr("~ plan.recompute none -> full"));
  const Json json = DiffJson(diff);
  EXPECT_EQ(json["changes"][0]["flags"][0]["sign"], "~");
  EXPECT_LT(json["changes"][0]["peak_device"], json["before"]["peak_device"]);
  EXPECT_GT(json["changes"][0]["step_seconds"], json["before"]["step_seconds"]);
}

TEST(FlagChanges, AreAddedRemovedOrChanged) {
  const auto changes = ChangesBetween({{"--a", ""}, {"--b", "1"}, {"--c", "x"}},
                                      {{"--b", "2"}, {"--c", "x"}, {"--d", ""}});
  ASSERT_THAT(changes, SizeIs(3));
  EXPECT_EQ(changes[0].sign, '~');
  EXPECT_EQ(changes[1].sign, '+');
  EXPECT_EQ(changes[1].name, "--d");
  EXPECT_EQ(changes[2].sign, '-');
  EXPECT_EQ(changes[2].name, "--a");
}
}  // namespace
}  // namespace shardplan
