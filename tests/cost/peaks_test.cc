// SPDX-License-Identifier: Apache-2.0
// What a job takes outside its steady step.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "planner/cost/cost.h"
#include "tests/support/cases.h"

namespace shardplan {
namespace {
using testing::DgxH100;
using testing::TinyLlama;
using namespace shardplan::literals;

constexpr double kHead = 32000.0 * 2048;  // TinyLlama's

struct Case {
  Model model = TinyLlama();
  Machine machine = DgxH100(1);
  Training training;
  Plan plan;

  explicit Case(FrameworkId framework, int zero_stage = 0) {
    training.framework = framework;
    training.seq_length = 2048;
    training.global_batch_size = 8;
    training.loss = LossImpl::kTe;
    plan.sharding.micro_batch_size = 1;
    plan.placement.dp = 8;
    plan.policy.zero_stage = zero_stage;
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;
  Evaluation Evaluated() const { return Evaluate(MakeJob(model, machine, training, {}), plan); }
  double Parameters() const { return CountParameters(model).total; }
};

Peak PeakOf(const Evaluation& evaluation, const std::string& name) {
  for (const Peak& peak : evaluation.peaks)
    if (peak.name == name) return peak;
  ADD_FAILURE() << "no peak " << name;
  return {};
}

// Megatron's distributed optimizer moves the weights into one buffer when that and the gradients'
// exist.
TEST(Peaks, MegatronLoadsWeightsTwiceBesideTheGradients) {
  const Case sharded(FrameworkId::kMegatron, 1), whole(FrameworkId::kMegatron, 0);
  const double parameters = sharded.Parameters();
  EXPECT_NEAR(PeakOf(sharded.Evaluated(), "loading").allocated.value, (2 + 2 + 4) * parameters,
              0.001 * parameters);
  EXPECT_NEAR(PeakOf(whole.Evaluated(), "loading").allocated.value, 2 * parameters,
              0.001 * parameters);
  EXPECT_EQ(PeakOf(sharded.Evaluated(), "loading").host.value, 0);
}

// One copy of the model where the first rank sends it, as many as ranks where each reads it.
TEST(Peaks, LoadingFillsTheHostByRank) {
  const Case fsdp(FrameworkId::kFsdp, 3), hf(FrameworkId::kHf), titan(FrameworkId::kTorchtitan, 3);
  EXPECT_EQ(PeakOf(fsdp.Evaluated(), "loading").host.value, 4 * fsdp.Parameters());
  EXPECT_EQ(PeakOf(hf.Evaluated(), "loading").host.value, 8 * 4 * hf.Parameters());
  EXPECT_EQ(PeakOf(titan.Evaluated(), "loading").host.value, 0);
  // The shard, and the largest unit whole: embedding and head.
  EXPECT_NEAR(PeakOf(fsdp.Evaluated(), "loading").allocated.value,
              4 * fsdp.Parameters() / 8 + 4 * 2 * kHead, 1e5);
}

TEST(Peaks, TheLongestSampleIsAStepOfThatLength) {
  Case varied(FrameworkId::kHf), longest(FrameworkId::kHf);
  varied.training.max_sample_length = longest.training.seq_length = 8192;
  const Evaluation e = varied.Evaluated();
  EXPECT_EQ(PeakOf(e, "longest sample").allocated, longest.Evaluated().peak_allocated);
  EXPECT_LT(e.peak_allocated, PeakOf(e, "longest sample").allocated);
  varied.training.max_sample_length = 0;
  for (const Peak& peak : varied.Evaluated().peaks) EXPECT_STRNE(peak.name, "longest sample");
}

// The fullest moment of the job decides, and is named.
TEST(Peaks, TheFullestMomentDecidesTheVerdict) {
  Case varied(FrameworkId::kHf);
  const Evaluation steady = varied.Evaluated();
  ASSERT_EQ(steady.verdict, Verdict::kFits);
  varied.training.max_sample_length = 65536;
  const Evaluation e = varied.Evaluated();
  EXPECT_EQ(e.verdict, Verdict::kOom);
  EXPECT_EQ(e.limit, "memory");
  EXPECT_EQ(e.limit_at, "longest sample");
  EXPECT_GT(e.p_oom, 0.5);
  EXPECT_EQ(e.peak_allocated, steady.peak_allocated);
}

// No gradients and no activations but of one layer; logits of as many sequences as are evaluated.
TEST(Peaks, EvaluationGrowsWithItsBatch) {
  Case few(FrameworkId::kHf), many(FrameworkId::kHf);
  few.training.loss = many.training.loss = LossImpl::kEager;
  few.training.eval_batch_size = 1;
  many.training.eval_batch_size = 17;
  const double sequence = (PeakOf(many.Evaluated(), "evaluation").allocated.value -
                           PeakOf(few.Evaluated(), "evaluation").allocated.value) /
                          16;
  const double logits = 10.0 * 2048 * 32000;
  EXPECT_GT(sequence, logits);
  EXPECT_LT(sequence, 1.5 * logits);
}

TEST(Peaks, CheckpointsAreShardedPinnedOrWhole) {
  Case job(FrameworkId::kFsdp, 3);
  const double parameters = job.Parameters();
  const auto saved = [&](CheckpointStyle style) {
    job.training.checkpoint = style;
    return PeakOf(job.Evaluated(), "checkpoint");
  };
  const Peak sharded = saved(CheckpointStyle::kSharded), async = saved(CheckpointStyle::kAsync),
             full = saved(CheckpointStyle::kFull);
  EXPECT_EQ(sharded.host.value, 0);
  EXPECT_NEAR(async.host.value, 12 * parameters, 1);  // eight shards of it in this node
  EXPECT_NEAR(full.host.value, 12 * parameters, 1);
  EXPECT_EQ(async.allocated, sharded.allocated);
  EXPECT_NEAR((full.allocated - sharded.allocated).value, 8 * 2 * kHead, 1e5);
}

// Replicas are saved once: without ZeRO a checkpoint is no larger.
TEST(Peaks, ReplicasAreSavedOnce) {
  const Case whole(FrameworkId::kMegatron, 0), sharded(FrameworkId::kMegatron, 1);
  EXPECT_NEAR(PeakOf(whole.Evaluated(), "checkpoint").host.value, 14 * whole.Parameters(),
              0.001 * whole.Parameters());
  EXPECT_EQ(PeakOf(whole.Evaluated(), "checkpoint").host,
            PeakOf(sharded.Evaluated(), "checkpoint").host);
}

// A node that cannot hold what its ranks read ends the job before its first step.
TEST(Peaks, HostMemoryIsALimitToo) {
  Case job(FrameworkId::kHf);
  job.machine.host.memory = 20_GiB;
  const Evaluation e = job.Evaluated();
  EXPECT_EQ(e.verdict, Verdict::kOom);
  EXPECT_EQ(e.limit, "host");
  EXPECT_EQ(e.limit_at, "loading");
}

TEST(Peaks, StagesHaveTheirOwn) {
  Case job(FrameworkId::kMegatron, 1);
  job.plan.placement.pp = 2;
  job.plan.placement.dp = 4;
  job.plan.placement.microbatches = 2;
  const Evaluation e = job.Evaluated();
  for (std::size_t p = 0; p < e.peaks.size(); ++p) {
    Bytes most;
    for (const StageMemory& stage : e.stages) {
      ASSERT_EQ(stage.peaks.size(), e.peaks.size());
      EXPECT_STREQ(stage.peaks[p].instant, e.peaks[p].name);
      most = Max(most, stage.peaks[p].allocated);
    }
    EXPECT_EQ(most, e.peaks[p].allocated) << e.peaks[p].name;
  }
}
}  // namespace
}  // namespace shardplan
