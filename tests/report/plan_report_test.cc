// SPDX-License-Identifier: Apache-2.0
#include "planner/report/plan_report.h"

#include <gmock/gmock.h>

#include "planner/report/plan_text.h"
#include "tests/report/fixtures.h"

namespace shardplan {
namespace {
using namespace shardplan::literals;
using ::testing::EndsWith;
using testing::Example;
using testing::ExampleEvaluation;
using testing::ExampleOom;
using ::testing::HasSubstr;

// Three plans, of which the first two cannot be told apart.
SearchResult ThreePlans() {
  const Evaluation first = ExampleEvaluation();
  Evaluation second = first, third = first;
  second.plan.placement = {
      .pp = 4, .vpp = 2, .dp = 1, .schedule = Schedule::kInterleaved, .microbatches = 32};
  second.step.time[0] = {1.5009};
  third.plan.policy.offload = Offload::kOptimizer;
  third.step.time[0] = {1.6};
  third.verdict = Verdict::kTight;
  third.peak_device = 79_GiB;
  SearchResult result;
  result.plans = {{1, 1, first}, {2, 1, second}, {3, 2, third}};
  result.covered = 142080;
  result.evaluated = 31440;
  result.fitting = 9444;
  result.rejected = {{"M2", 110640}, {"memory", 21996}};
  result.threads = 2;
  result.seconds = 0.0123;
  return result;
}

SearchResult NothingThatFits() {
  SearchResult result;
  result.covered = 48216;
  result.evaluated = 31440;
  result.seconds = 1.5;
  result.rejected = {{"memory", 31440}, {"G1", 16776}, {"M2", 0}};
  result.nearest = {{ExampleOom(), 6_GiB}};
  return result;
}

TEST(PlanReport, ShowsTheRanking) {
  const Example example;
  EXPECT_EQ(
      PlanReport(example.subject, ThreePlans(), {}, {}, {}),
      R"(tinyllama on 16 x h100-sxm-80gb (8 per node), seq_length 2048, global_batch_size 64, bf16-mixed, megatron 0.14
142,080 plans covered in 12.3 ms; 31,440 evaluated, 9,444 of them fit; best 3 of 20 kept
 rank  tie    step  MFU    memory  tp  pp  vp  cp  dp  zero  mb  recompute  offload    exposed comm  bubble  best  fit
    1    1  2.00 s  40%  46.0 GiB   4   2   1   1   2     1   2  selective  none                16%    6.2%   48%
    2    1  2.00 s  40%  46.0 GiB   4   4   2   1   1     1   2  selective  none                16%    6.2%   48%
    3    2  2.10 s  40%  79.0 GiB   4   2   1   1   2     1   2  selective  optimizer           15%    6.0%  4.8%  tight, oom 2.0%
memory: what nvidia-smi shows on the fullest GPU, of 80.0 GiB
numbers: predicted from data sheets; cluster.profile puts measured ones in their place
)");
}

TEST(PlanReport, SaysWhatWasRankedBy) {
  const Example example;
  EXPECT_THAT(PlanReport(example.subject, ThreePlans(), {.objective = Objective::kMemory}, {}, {}),
              HasSubstr("best 3 of 20 kept, by memory\n"));
}

TEST(PlanReport, WhereNothingFitsSaysWhyAndWhatWould) {
  const Example example;
  NothingFits instead;
  instead.hints = {{{"recompute: full"}, ExampleEvaluation()}};
  instead.hints[0].evaluation.step.time[0] = {1.92};
  instead.reasons = {{"G1", "global_batch_size 1000 is not a multiple of dp x micro_batch_size"}};
  EXPECT_EQ(
      PlanReport(example.subject, NothingThatFits(), {}, instead, {}),
      R"(tinyllama on 16 x h100-sxm-80gb (8 per node), seq_length 2048, global_batch_size 64, bf16-mixed, megatron 0.14
no plan fits: 48,216 considered in 1.50 s
the closest plans, and what they miss of 80.0 GiB
  missing  of        memory    step  tp  pp  vp  cp  dp  zero  mb  recompute
 6.00 GiB  memory  90.0 GiB  2.00 s   4   2   1   1   2     1   2  selective
  plans  rejected by
 31,440  memory
 16,776  G1           global_batch_size 1000 is not a multiple of dp x micro_batch_size
  try: recompute: full fits in 44.0 GiB of 80.0 GiB at +21% step time
numbers: predicted from data sheets; cluster.profile puts measured ones in their place
)");
}

TEST(PlanReport, ThatWasStoppedSaysSo) {
  const Example example;
  SearchResult result = ThreePlans();
  result.complete = false;
  EXPECT_THAT(
      PlanReport(example.subject, result, {}, {}, {}),
      HasSubstr("\nstopped early among 142,080 plans in 12.3 ms; 31,440 evaluated, 9,444 of "
                "them fit; best 3 of 20 kept\n"));
  EXPECT_EQ(SearchJson(example.subject, result, {}, {})["searched"]["complete"], false);
  result.plans.clear();
  EXPECT_THAT(PlanReport(example.subject, result, {}, {}, {}),
              EndsWith("\nstopped early among 142,080 plans in 12.3 ms; 31,440 evaluated, and none "
                       "that fits found so far\n"));
}

TEST(PlanJson, HasTheKeysOfTheContract) {
  const Example example;
  const Json json = SearchJson(example.subject, ThreePlans(), {}, {});
  EXPECT_EQ(json["schema"], "shardplan/v1");
  EXPECT_EQ(json["model"]["parameters"], 1100048384);
  EXPECT_EQ(json["cluster"]["gpus"], 16);
  const Json& searched = json["searched"];
  EXPECT_EQ(searched["covered"], 142080);
  EXPECT_EQ(searched["evaluated"], 31440);
  EXPECT_EQ(searched["threads"], 2);
  EXPECT_EQ(searched["seconds"], 0.0123);
  EXPECT_EQ(searched["rejected"], (Json{{"M2", 110640}, {"memory", 21996}}));
  ASSERT_EQ(json["plans"].size(), 3u);
  const Json& last = json["plans"][2];
  EXPECT_EQ(last["rank"], 3);
  EXPECT_EQ(last["tie"], 2);
  double chance = 0;
  for (const Json& plan : json["plans"]) chance += plan["p_best"].get<double>();
  EXPECT_NEAR(chance, 1, 1e-9);
  EXPECT_LT(last["p_best"], json["plans"][0]["p_best"]);
  EXPECT_EQ(last["plan"]["offload"], "optimizer");
  EXPECT_EQ(last["verdict"], "tight");
  EXPECT_EQ(last["memory"]["peak_device"], 79LL << 30);
  EXPECT_EQ(last["time"]["step_seconds"], 2.1);
  EXPECT_EQ(last["basis"], "datasheet");
}

TEST(PlanJson, WhereNothingFitsHasTheClosestPlansAndHints) {
  const Example example;
  NothingFits instead;
  instead.hints = {{{"recompute: full"}, ExampleEvaluation()}};
  const Json json = SearchJson(example.subject, NothingThatFits(), {}, instead);
  EXPECT_EQ(json["plans"], Json::array());
  EXPECT_EQ(json["nearest"][0]["missing"], 6LL << 30);
  EXPECT_EQ(json["nearest"][0]["limit"], "memory");
  EXPECT_EQ(json["hints"][0]["changes"][0], "recompute: full");
  EXPECT_EQ(json["searched"]["rejected"], (Json{{"G1", 16776}, {"memory", 31440}}));
}

TEST(PlanText, NamesTheUsualAxesAndWhatIsNotCustomary) {
  EXPECT_EQ(PlanText(Plan{}),
            "tp 1, pp 1, vpp 1, cp 1, dp 1, zero_stage 0, micro_batch_size 1, recompute none");
  Plan plan;
  plan.placement = {.pp = 2, .vpp = 2, .schedule = Schedule::kInterleaved};
  plan.policy.offload = Offload::kActivations;
  EXPECT_EQ(PlanText(plan),
            "tp 1, pp 2, vpp 2, cp 1, dp 1, zero_stage 0, micro_batch_size 1, recompute none, "
            "offload activations");
}

TEST(PlanText, ColumnsTellPlansApart) {
  Plan plain, gpipe;
  gpipe.placement.pp = 2;
  gpipe.placement.schedule = Schedule::kGpipe;
  const auto has = [](const std::vector<const Plan*>& plans, std::string_view key) {
    for (const Axis* axis : ColumnsOf(plans))
      if (axis->key == key) return true;
    return false;
  };
  EXPECT_TRUE(has({&plain}, "tp"));
  EXPECT_FALSE(has({&plain}, "schedule"));
  EXPECT_TRUE(has({&plain, &gpipe}, "schedule"));
  EXPECT_FALSE(has({&plain, &gpipe}, "microbatches"));
  Plan with_sp, without_sp;
  with_sp.sharding = {.tp = 2, .sp = true};
  without_sp.sharding = {.tp = 2, .sp = false};
  EXPECT_FALSE(has({&plain, &with_sp}, "sp"));
  EXPECT_TRUE(has({&without_sp, &with_sp}, "sp"));
}
}  // namespace
}  // namespace shardplan
