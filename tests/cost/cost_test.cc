// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "planner/cost/uncertainty.h"
#include "planner/machine/profile.h"
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

Training HfTraining(Precision precision) {
  Training training;
  training.framework = FrameworkId::kHf;
  training.seq_length = 2048;
  training.global_batch_size = 4;
  training.precision = precision;
  training.attention = AttentionImpl::kSdpa;
  training.loss = LossImpl::kEager;
  training.keep_logits = true;
  return training;
}

Training Megatron(int seq_length, int batch) {
  Training training;
  training.framework = FrameworkId::kMegatron;
  training.seq_length = seq_length;
  training.global_batch_size = batch;
  training.loss = LossImpl::kVocabParallel;
  return training;
}

Plan OneGpu(int micro_batch, RecomputeKind recompute) {
  Plan plan;
  plan.sharding.micro_batch_size = micro_batch;
  plan.sharding.recompute.kind = recompute;
  return plan;
}

double GiB(Bytes bytes) { return bytes.value / (1 << 30); }

// torch.cuda.max_memory_allocated on one H200, PyTorch 2.11, transformers 5.17 (evidence:
// one H200).
TEST(Memory, WalksTinyLlamaToAFifthOfAPercent) {
  struct Row {
    Precision precision;
    RecomputeKind recompute;
    double measured;
    bool workspaces;  // counted: later rows of a process found cuBLAS's already there
  };
  const Model model = TinyLlama();
  const Machine machine = H200(1, 1);
  for (const Row& row : {Row{Precision::kBf16True, RecomputeKind::kNone, 24.387, true},
                         Row{Precision::kBf16True, RecomputeKind::kFull, 10.382, false},
                         Row{Precision::kBf16Mixed, RecomputeKind::kNone, 35.866, false}}) {
    const Training training = HfTraining(row.precision);
    const Evaluation e = Evaluate(MakeJob(model, machine, training, {}), OneGpu(4, row.recompute));
    const Bytes elsewhere = row.workspaces ? Bytes{} : BlasWorkspaces(machine.gpu);
    EXPECT_NEAR(GiB(e.peak_allocated - elsewhere) / row.measured, 1, 0.002) << row.measured;
    EXPECT_STREQ(e.stages[0].instant, "loss backward");
  }
}

class RandomPlans : public ::testing::TestWithParam<std::uint64_t> {};

// Every number that is shown is a sum of what is shown beside it.
TEST_P(RandomPlans, PartsAddUp) {
  std::mt19937_64 random(GetParam());
  const Model model = GetParam() % 2 ? Llama70b() : Mixtral();
  const Machine machine = DgxH100(8);
  const Training training = Megatron(4096, 512);
  const Evaluation e =
      Evaluate(MakeJob(model, machine, training, {}), RandomPlan(random, model, machine, training));
  Seconds time;
  for (Seconds part : e.step.time) {
    EXPECT_GE(part.value, 0);
    time += part;
  }
  EXPECT_NEAR(time.value, e.step.Time().value, 1e-9 * time.value);
  Bytes peak;
  for (const StageMemory& stage : e.stages) {
    Bytes sum;
    for (Bytes part : stage.parts) {
      EXPECT_GE(part.value, 0);
      sum += part;
    }
    EXPECT_NEAR(sum.value, stage.allocated.value, 1) << "stage " << stage.stage;
    peak = Max(peak, stage.allocated);
  }
  EXPECT_EQ(peak, e.peak_allocated);
  EXPECT_TRUE(std::isfinite(time.value) && time.value > 0);
  EXPECT_LE(e.peak_allocated, e.peak_reserved);
  EXPECT_LE(e.peak_reserved, e.peak_device);
}

// The search prunes by Bound and shows Evaluate.
TEST_P(RandomPlans, BoundIsNeverAboveEvaluate) {
  std::mt19937_64 random(GetParam());
  const Model model = GetParam() % 2 ? Llama70b() : Mixtral();
  const Machine machine = DgxH100(8);
  const Training training = Megatron(4096, 512);
  const Job job = MakeJob(model, machine, training, {});
  const Plan plan = RandomPlan(random, model, machine, training);
  const StepCost bound = Bound(job, plan);
  const Evaluation e = Evaluate(job, plan);
  EXPECT_LE(bound.Time().value, e.step.Time().value * (1 + 1e-12));
  EXPECT_LE(bound.allocated, e.step.allocated);
}

// A machine that is better in one respect is never slower.
TEST_P(RandomPlans, MoreBandwidthIsNeverSlower) {
  std::mt19937_64 random(GetParam());
  const Model model = Llama70b();
  const Machine machine = DgxH100(8);
  const Training training = Megatron(4096, 512);
  const Plan plan = RandomPlan(random, model, machine, training);
  const Seconds before = Evaluate(MakeJob(model, machine, training, {}), plan).step.Time();
  Machine memory = machine, network = machine, compute = machine;
  memory.gpu.memory_bandwidth *= 1.5;
  network.scale_out.rate *= 2;
  compute.gpu.bf16 *= 1.5;
  for (const Machine& better : {memory, network, compute})
    EXPECT_LE(Evaluate(MakeJob(model, better, training, {}), plan).step.Time().value,
              before.value * (1 + 1e-9));
}

// Recomputing more never keeps more; sharding more state never takes more memory.
TEST_P(RandomPlans, RecomputationAndZeroOnlySaveMemory) {
  std::mt19937_64 random(GetParam());
  const Model model = Llama70b();
  const Machine machine = DgxH100(8);
  const Training training = Megatron(4096, 512);
  const Job job = MakeJob(model, machine, training, {});
  Plan plan = RandomPlan(random, model, machine, training);
  plan.sharding.recompute = {};
  const Bytes none = Evaluate(job, plan).peak_allocated;
  plan.sharding.recompute.kind = RecomputeKind::kFull;
  EXPECT_LE(Evaluate(job, plan).peak_allocated, none);
  if (plan.placement.dp * plan.sharding.cp < 4) return;
  plan.policy.offload = Offload::kNone;
  Bytes last{1e18};
  for (int stage : {0, 1, 2}) {
    plan.policy.zero_stage = stage;
    const Bytes bytes = Evaluate(job, plan).peak_allocated;
    EXPECT_LE(bytes, last) << "zero_stage " << stage;
    last = bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPlans, ::testing::Range(std::uint64_t{0}, std::uint64_t{60}));

// Causal attention that is counted in full but half computed may look fast, never faster than the
// peak.
TEST(Throughput, NeverPassesThePeakOfAnyPrecision) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 1);
  for (Precision precision :
       {Precision::kBf16Mixed, Precision::kFp16True, Precision::kFp32, Precision::kTf32})
    for (int sequence : {2048, 32768}) {
      Training training = HfTraining(precision);
      training.seq_length = sequence;
      training.global_batch_size = 1;
      training.attention = AttentionImpl::kFlash;
      const Evaluation e =
          Evaluate(MakeJob(model, machine, training, {}), OneGpu(1, RecomputeKind::kNone));
      EXPECT_LT(e.mfu, 1) << static_cast<int>(precision) << ' ' << sequence;
      EXPECT_GT(e.mfu, 0.05) << static_cast<int>(precision) << ' ' << sequence;
    }
}

TEST(Verdict, SaysOomTightAndFitsAsTheMemoryShrinks) {
  const Model model = TinyLlama();
  const Training training = HfTraining(Precision::kBf16True);
  const auto verdict = [&](double gib) {
    Machine machine = H200(1, 1);
    machine.gpu.memory = {gib * (1 << 30)};
    return Evaluate(MakeJob(model, machine, training, {}), OneGpu(4, RecomputeKind::kNone));
  };
  const Evaluation roomy = verdict(40);
  EXPECT_EQ(roomy.verdict, Verdict::kFits);
  EXPECT_LT(roomy.p_oom, 0.01);
  EXPECT_EQ(verdict(20).verdict, Verdict::kOom);
  EXPECT_GT(verdict(20).p_oom, 0.99);
  // Between what cannot be avoided and what the allocator would like, it is tight.
  EXPECT_EQ(verdict(GiB((roomy.step.unavoidable + roomy.peak_device) / 2)).verdict,
            Verdict::kTight);
}

TEST(Verdict, NamesTheHostWhenItsMemoryIsShort) {
  const Model model = Llama70b();
  Machine machine = DgxH100(1);
  machine.host.memory = 500_GiB;
  Training training = Megatron(2048, 8);
  training.framework = FrameworkId::kDeepspeed;
  Plan plan;
  plan.placement.dp = 8;
  plan.policy = {.zero_stage = 3,
                 .zero_group = 0,
                 .offload = Offload::kOptimizerAndParams,
                 .offload_to = OffloadTo::kCpu,
                 .overlap = {}};
  plan.sharding.recompute.kind = RecomputeKind::kFull;
  const Evaluation e = Evaluate(MakeJob(model, machine, training, {}), plan);
  EXPECT_EQ(e.verdict, Verdict::kOom);
  EXPECT_EQ(e.limit, "host");
}

Training Fsdp(int seq_length, int batch) {
  Training training = HfTraining(Precision::kBf16Mixed);
  training.framework = FrameworkId::kFsdp;
  training.seq_length = seq_length;
  training.global_batch_size = batch;
  return training;
}

Seconds At(const Evaluation& evaluation, TimePart part) {
  return evaluation.step.time[static_cast<std::size_t>(part)];
}

// A unit is gathered by a collective of its own, whose latency grows with the ranks.
TEST(FullSharding, PaysEachUnitsLatency) {
  const Model model = TinyLlama();
  Seconds last;
  for (int nodes : {2, 16, 64}) {
    const Machine machine = DgxH100(nodes);
    const Training training = Fsdp(2048, 8 * nodes);
    Plan plan = OneGpu(1, RecomputeKind::kNone);
    plan.placement.dp = 8 * nodes;
    plan.policy.zero_stage = 3;
    plan.policy.overlap = {.grad_reduce = true, .param_gather = true};
    const StepCost step = Bound(MakeJob(model, machine, training, {}), plan);
    const Seconds gather = step.time[static_cast<std::size_t>(TimePart::kParameterGather)];
    EXPECT_GT(gather, last) << nodes;
    last = gather;
  }
}

// Hidden communication is not free: it takes multiprocessors from the work beside it, more of them
// over NVLink than over one network card.
TEST(FullSharding, HiddenTrafficTakesMultiprocessors) {
  const Machine machine = DgxH100(8);
  const Bytes unit{400e6};
  const auto taken = [&](Group group) {
    return TakenBy(machine.gpu, Communicator(machine, group), Collective::kAllGather, unit);
  };
  EXPECT_GT(taken({8, 1}), 0.1);
  EXPECT_LE(taken({8, 1}), 0.8);
  EXPECT_LT(taken({8, 8}), taken({8, 1}));
  EXPECT_EQ(taken({1, 1}), 0);
}

// DeepEP sends a token once to a rank that several of its experts lie on.
TEST(Experts, AreReachedOnceByDeepEp) {
  const Model model = Mixtral();
  const Machine machine = DgxH100(1);
  Training training = Megatron(4096, 64);
  Plan plan = OneGpu(1, RecomputeKind::kNone);
  plan.sharding.ep = 2;
  plan.placement.dp = 8;
  plan.placement.microbatches = 8;
  training.moe_dispatcher = MoeDispatcher::kAllToAll;
  const Seconds all =
      At(Evaluate(MakeJob(model, machine, training, {}), plan), TimePart::kExpertComm);
  training.moe_dispatcher = MoeDispatcher::kDeepEp;
  const Seconds once =
      At(Evaluate(MakeJob(model, machine, training, {}), plan), TimePart::kExpertComm);
  // Of two copies 2 (1 - 1/4) / 2 are sent.
  EXPECT_LT(once, all);
  EXPECT_GT(once, all * 0.74);
}

TEST(Interval, WidensWithWhatIsNotKnownOfTheFramework) {
  TimeParts parts{};
  parts[static_cast<std::size_t>(TimePart::kCompute)] = {1};
  EXPECT_LT(TimeSpread(parts, {}, 0), TimeSpread(parts, {}, 0.1));
  EXPECT_NEAR(TimeSpread(parts, {}, 0.1), std::hypot(Deviation(TimePart::kCompute, {}), 0.1),
              1e-12);
  const std::array<Seconds, 2> range = Interval(Seconds{1}, TimeSpread(parts, {}, 0.1));
  EXPECT_NEAR(range[0].value * range[1].value, 1, 1e-12);
}

TEST(Interval, ShrinksWhereAProfileMeasured) {
  TimeParts parts{};
  parts[static_cast<std::size_t>(TimePart::kCompute)] = {1};
  parts[static_cast<std::size_t>(TimePart::kTensorComm)] = {1};
  Machine machine;
  const double unmeasured = TimeSpread(parts, machine, 0);
  machine.gpu.profile = std::make_shared<KernelProfile>();
  const double kernels = TimeSpread(parts, machine, 0);
  machine.profile = std::make_shared<CollectiveProfile>();
  EXPECT_LT(kernels, unmeasured);
  EXPECT_LT(TimeSpread(parts, machine, 0), kernels);
}
}  // namespace
}  // namespace shardplan
