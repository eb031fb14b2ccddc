// SPDX-License-Identifier: Apache-2.0
// What a plan asks of the machine, by the shapes that a rank has.
#include "planner/cost/demand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "tests/support/cases.h"

namespace shardplan {
namespace {
using testing::DgxH100;
using testing::Llama70b;
using testing::Mixtral;

Training TrainingOf(Precision precision) {
  Training training;
  training.framework = FrameworkId::kMegatron;
  training.seq_length = 4096;
  training.global_batch_size = 512;
  training.precision = precision;
  return training;
}

Plan PlanOf(int tp, int pp, int dp, int ep = 1) {
  Plan plan;
  plan.sharding.tp = tp;
  plan.sharding.sp = tp > 1;
  plan.sharding.ep = ep;
  plan.sharding.micro_batch_size = 1;
  plan.placement.pp = pp;
  plan.placement.dp = dp;
  plan.placement.microbatches = 512 / dp;
  return plan;
}

// DemandOf a model over eight nodes.
Demand Ask(const Model& model, const Plan& plan, Precision precision = Precision::kBf16Mixed) {
  const Machine machine = DgxH100(8);
  const Training training = TrainingOf(precision);
  return DemandOf(MakeJob(model, machine, training, {}), plan);
}

std::set<Collective> OpsOf(const Demand& demand) {
  std::set<Collective> ops;
  for (const Demand::Traffic& traffic : demand.traffic) ops.insert(traffic.op);
  return ops;
}

// The input's gradient swaps a product's columns and depth, the weight's has the rows as depth.
TEST(Demand, EachProductHasItsTwoGradients) {
  using Pass = Demand::Pass;
  const Demand demand = Ask(Llama70b(), PlanOf(4, 2, 8));
  std::multiset<std::tuple<double, double, double>> forward, input, weight;
  for (const Demand::Gemm& one : demand.gemms) {
    EXPECT_GT(one.step.value, 0);
    if (one.pass == Pass::kForward) forward.insert({one.m, one.n, one.k});
    if (one.pass == Pass::kInput) input.insert({one.m, one.k, one.n});
    if (one.pass == Pass::kWeight) weight.insert({one.k, one.m, one.n});
  }
  EXPECT_FALSE(forward.empty());
  EXPECT_EQ(forward, input);
  EXPECT_EQ(forward, weight);
}

// tp ranks share a layer's products and heads; the rows of a product stay those of the micro batch.
TEST(Demand, TensorParallelRanksShareProductsAndHeads) {
  const auto forward_work = [](const Demand& demand) {
    double work = 0;
    for (const Demand::Gemm& one : demand.gemms)
      if (one.pass == Demand::Pass::kForward) {
        EXPECT_EQ(one.m, 4096);
        work += one.m * one.n * one.k;
      }
    return work;
  };
  const Demand whole = Ask(Llama70b(), PlanOf(1, 8, 8)), eighth = Ask(Llama70b(), PlanOf(8, 1, 8));
  EXPECT_NEAR(forward_work(eighth) / forward_work(whole), 1.0 / 8, 0.01);
  EXPECT_EQ(whole.attentions.front().heads, 8 * eighth.attentions.front().heads);
}

TEST(Demand, TrafficIsThatOfTheAxesInUse) {
  using enum Collective;
  EXPECT_TRUE(Ask(Llama70b(), PlanOf(1, 1, 1)).traffic.empty());
  EXPECT_EQ(OpsOf(Ask(Llama70b(), PlanOf(1, 1, 8))), std::set({kAllReduce}));
  EXPECT_EQ(OpsOf(Ask(Llama70b(), PlanOf(1, 8, 1))), std::set({kSendRecv}));
  EXPECT_EQ(OpsOf(Ask(Llama70b(), PlanOf(8, 1, 1))), std::set({kAllGather, kReduceScatter}));
  EXPECT_EQ(OpsOf(Ask(Mixtral(), PlanOf(1, 1, 8, 8))), std::set({kAllReduce, kAllToAll}));
  Plan sharded = PlanOf(1, 1, 8);
  sharded.policy.zero_stage = 1;
  EXPECT_EQ(OpsOf(Ask(Llama70b(), sharded)), std::set({kAllGather, kReduceScatter}));
}

// Products run in 8 bits, attention does not.
TEST(Demand, AttentionStaysInSixteenBits) {
  const Demand demand = Ask(Llama70b(), PlanOf(1, 8, 8), Precision::kFp8);
  EXPECT_TRUE(std::any_of(demand.gemms.begin(), demand.gemms.end(),
                          [](const auto& one) { return one.number == Number::kFp8; }));
  for (const Demand::Attention& one : demand.attentions) EXPECT_EQ(one.number, Number::kBf16);
  EXPECT_EQ(Ask(Llama70b(), PlanOf(1, 8, 8), Precision::kFp32).attentions.front().number,
            Number::kFp32);
}
}  // namespace
}  // namespace shardplan
