// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/cases.h"

namespace shardplan {
namespace {
using namespace shardplan::literals;
using testing::DgxH100;
using testing::H200;
using testing::Llama70b;
using testing::Mixtral;
using testing::RandomPlan;
using testing::TinyLlama;

constexpr FrameworkId kFrameworks[] = {FrameworkId::kMegatron, FrameworkId::kTorchtitan,
                                       FrameworkId::kFsdp,     FrameworkId::kDeepspeed,
                                       FrameworkId::kDdp,      FrameworkId::kHf,
                                       FrameworkId::kNanotron, FrameworkId::kNative};

Training TrainingOf(FrameworkId framework, bool mixed) {
  Training training;
  training.framework = framework;
  training.seq_length = 4096;
  training.global_batch_size = 512;
  training.precision = mixed ? Precision::kBf16Mixed : Precision::kBf16True;
  training.attention = AttentionImpl::kSdpa;
  return training;
}

Model ModelOf(std::uint64_t seed) {
  return seed % 3 == 0 ? Mixtral() : seed % 3 == 1 ? Llama70b() : TinyLlama();
}

// A plan of axes that the framework has. Left out are offloaded activations, of which instants take
// an eighth where the walk takes whole layers, and stages that recompute half of one layer.
bool IsComparable(const Job& job, const Plan& plan) {
  const bool halves = job.conventions.selective_every_second_block &&
                      plan.sharding.recompute.kind == RecomputeKind::kSelective &&
                      plan.placement.pp > 1;
  return !halves && (plan.placement.pp == 1 || job.framework->pipeline) &&
         (plan.sharding.tp == 1 || job.framework->tensor) &&
         plan.policy.offload != Offload::kActivations;
}

// The walk allocates what the instants add up: the same but for gradients between ops, which it
// holds one by one, and the rounding of micro batches in flight.
TEST(Replay, AllocatesWhatTheInstantsSay) {
  const Machine machine = DgxH100(8);
  for (const FrameworkId framework : kFrameworks) {
    std::vector<double> errors;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const Model model = ModelOf(seed);
      const Training training = TrainingOf(framework, seed % 4 != 0);
      const Job job = MakeJob(model, machine, training, {});
      std::mt19937_64 random(seed);
      const Plan plan = RandomPlan(random, model, machine, training);
      if (!IsComparable(job, plan)) continue;
      const LayersCost layers = CostLayers(job, plan.sharding);
      const StageCost stage = CostStage(job, layers, plan.sharding, plan.placement, true);
      const Evaluation evaluation = Evaluate(job, plan);
      for (const StageLoad& load : {stage.loads.front(), stage.loads.back()}) {
        const Bytes said = evaluation.stages[static_cast<std::size_t>(load.stage)].allocated;
        const double error = ReplayStage(job, layers, stage, load, plan).allocated / said - 1;
        EXPECT_LT(std::abs(error), 0.3)
            << job.framework->name << " seed " << seed << " stage " << load.stage;
        errors.push_back(std::abs(error));
      }
    }
    std::sort(errors.begin(), errors.end());
    EXPECT_LT(errors[errors.size() / 2], 0.015) << static_cast<int>(framework);
    EXPECT_LT(errors[errors.size() * 9 / 10], 0.07) << static_cast<int>(framework);
  }
}

class Replays : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Replays, SeriesAndContributorsAddUp) {
  std::mt19937_64 random(GetParam());
  const Model model = ModelOf(GetParam());
  const Machine machine = DgxH100(8);
  const Training training = TrainingOf(kFrameworks[GetParam() % 8], true);
  const Job job = MakeJob(model, machine, training, {});
  const Plan plan = RandomPlan(random, model, machine, training);
  const LayersCost layers = CostLayers(job, plan.sharding);
  const StageCost stage = CostStage(job, layers, plan.sharding, plan.placement, true);
  const StageReplay replay = ReplayStage(job, layers, stage, stage.loads.front(), plan);
  EXPECT_LE(replay.allocated, replay.pinned);
  EXPECT_LE(replay.pinned, replay.reserved);
  Bytes sum, most, reserved;
  for (const Contributor& c : replay.at_peak) {
    EXPECT_GT(c.bytes.value, 0);
    sum += c.bytes;
  }
  EXPECT_EQ(sum, replay.allocated);
  for (const StageMemory::Point& point : replay.series) {
    most = Max(most, point.allocated);
    EXPECT_GE(point.reserved, reserved) << point.when;
    reserved = point.reserved;
  }
  EXPECT_EQ(most, replay.allocated);
  EXPECT_EQ(reserved, replay.reserved);
}

// Layers taken together keep the totals, and what the allocator adds in proportion.
TEST_P(Replays, TakingLayersTogetherChangesLittle) {
  std::mt19937_64 random(GetParam());
  const Model model = Llama70b();
  const Machine machine = DgxH100(8);
  const Training training = TrainingOf(kFrameworks[GetParam() % 8], true);
  const Job job = MakeJob(model, machine, training, {});
  const Plan plan = RandomPlan(random, model, machine, training);
  if (!IsComparable(job, plan)) return;
  const LayersCost layers = CostLayers(job, plan.sharding);
  const StageCost stage = CostStage(job, layers, plan.sharding, plan.placement, true);
  const StageReplay all = ReplayStage(job, layers, stage, stage.loads.front(), plan, 100'000);
  const StageReplay few = ReplayStage(job, layers, stage, stage.loads.front(), plan);
  EXPECT_NEAR(few.allocated / all.allocated, 1, 0.05);
  EXPECT_NEAR(few.reserved / all.reserved, 1, 0.2);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Replays, ::testing::Range(std::uint64_t{0}, std::uint64_t{24}));

// max_memory_reserved over max_memory_allocated on one H200, PyTorch 2.11, transformers 5.17.
TEST(Replay, ReservesWhatAnH200Reserved) {
  struct Row {
    Precision precision;
    RecomputeKind recompute;
    int microbatches;
    double measured;
  };
  const Model model = TinyLlama();
  const Machine machine = H200(1, 1);
  for (const Row& row : {Row{Precision::kBf16True, RecomputeKind::kNone, 1, 1.106},
                         Row{Precision::kBf16True, RecomputeKind::kFull, 1, 1.149},
                         Row{Precision::kBf16True, RecomputeKind::kNone, 4, 1.066},
                         Row{Precision::kBf16Mixed, RecomputeKind::kNone, 1, 1.070}}) {
    Training training = TrainingOf(FrameworkId::kHf, false);
    training.precision = row.precision;
    training.seq_length = 2048;
    training.keep_logits = true;
    Plan plan;
    plan.sharding.micro_batch_size = 4;
    plan.sharding.recompute.kind = row.recompute;
    plan.placement.microbatches = row.microbatches;
    const Evaluation e = Evaluate(MakeJob(model, machine, training, {}), plan);
    EXPECT_NEAR(e.peak_reserved / e.peak_allocated, row.measured, 0.03) << row.measured;
  }
}

// Pages strand less than segments.
TEST(Replay, ExpandableSegmentsReserveLess) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 1);
  Training training = TrainingOf(FrameworkId::kHf, false);
  training.seq_length = 2048;
  Plan plan;
  plan.sharding.micro_batch_size = 4;
  const Bytes segments = Evaluate(MakeJob(model, machine, training, {}), plan).peak_reserved;
  training.expandable_segments = true;
  EXPECT_LT(Evaluate(MakeJob(model, machine, training, {}), plan).peak_reserved, segments * 0.97);
}
}  // namespace
}  // namespace shardplan
