// SPDX-License-Identifier: Apache-2.0
// What each framework keeps in memory, and when: one claim a test.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "planner/cost/cost.h"
#include "planner/model/families.h"
#include "tests/support/cases.h"

namespace shardplan {
namespace {
using testing::DgxH100;
using testing::H200;
using testing::TinyLlama;

constexpr double kHidden = 2048, kFfn = 5632, kLayers = 22, kVocab = 32000;  // TinyLlama's
constexpr double kHead = kVocab * kHidden;

Training Of(FrameworkId framework, int batch) {
  Training training;
  training.framework = framework;
  training.seq_length = 2048;
  training.global_batch_size = batch;
  training.attention = AttentionImpl::kSdpa;
  training.loss = LossImpl::kTe;  // the least, so that other instants show
  return training;
}

Plan Shape(int micro_batch, RecomputeKind recompute, int zero_stage, int dp) {
  Plan plan;
  plan.sharding.micro_batch_size = micro_batch;
  plan.sharding.recompute.kind = recompute;
  plan.policy.zero_stage = zero_stage;
  plan.placement.dp = dp;
  return plan;
}

double At(const StageMemory& stage, const std::string& instant) {
  for (const StageMemory::Alive& alive : stage.instants)
    if (alive.instant == instant) return alive.allocated.value;
  ADD_FAILURE() << "no instant " << instant;
  return 0;
}

double Saved(const Training& training, const Sharding& sharding) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 8);
  const Job job = MakeJob(model, machine, training, {});
  return CostLayers(job, sharding).blocks[0].saved.value / (2048.0 * sharding.micro_batch_size);
}

// Its transposed attention output is a view of one sequence and a copy of several.
TEST(Memory, NanotronCopiesTheAttentionOutputOfSeveralSequences) {
  const Training training = Of(FrameworkId::kNanotron, 8);
  EXPECT_NEAR(Saved(training, {.micro_batch_size = 4}) - Saved(training, {.micro_batch_size = 1}),
              2 * kHidden, 1);
}

// Column-parallel products keep their gathered input, whole on each rank; one rank gathers nothing.
TEST(Memory, NanotronGathersTheNormsOutputs) {
  const Training training = Of(FrameworkId::kNanotron, 8);
  Sharding whole{.micro_batch_size = 1}, cut{.tp = 4, .sp = true, .micro_batch_size = 1};
  const double gathered = 2 * 2 * kHidden;
  const double rest = Saved(training, whole) - gathered;
  EXPECT_NEAR(Saved(training, cut), gathered + rest / 4, 0.02 * rest);
}

// Per-op checkpointing keeps every second product's output in eager code; the compiler drops the
// one that no backward reads.
TEST(Memory, CompilersDropTheOutputThatNothingReads) {
  Training training = Of(FrameworkId::kTorchtitan, 8);
  const Sharding selective{.micro_batch_size = 1, .recompute = {.kind = RecomputeKind::kSelective}};
  const double eager = Saved(training, selective);
  training.compile = true;
  EXPECT_NEAR(eager - Saved(training, selective), 2 * kHidden, 1);
}

// Inductor saves what products read; recomputing it could fuse with nothing.
TEST(Memory, CompilersSaveTheInputsOfProducts) {
  Training training = Of(FrameworkId::kFsdp, 8);
  training.compile = true;
  const double norms = 2 * (2 + 2) * kHidden, mlp = 3 * 2 * kFfn;
  const double kept = Saved(training, {.micro_batch_size = 1});
  EXPECT_GT(kept, norms + mlp + 2 * 2 * kHidden);
  EXPECT_LT(kept, norms + mlp + 4 * 2 * kHidden);
}

// FSDP reduces embedding and head last: until then their fp32 shards do not exist.
TEST(Memory, FsdpReducesItsRootLast) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 2);
  const Training training = Of(FrameworkId::kFsdp, 2);
  const Job job = MakeJob(model, machine, training, {});
  const Evaluation e = Evaluate(job, Shape(1, RecomputeKind::kFull, 3, 2));
  const double parameters = CountParameters(model).total, states = 12 * parameters / 2;
  const double layers = 4 * (parameters - 2 * kHead) / 2, root = (2 + 4) * 2 * kHead;
  EXPECT_NEAR(At(e.stages[0], "gradient reduction"),
              states + layers + root + BlasWorkspaces(machine.gpu).value, 0.01 * states);
}

// From the second micro batch on, shards of all gradients exist beside the root's unreduced one.
TEST(Memory, FsdpKeepsTheShardsOfEarlierMicroBatches) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 2);
  const Training training = Of(FrameworkId::kFsdp, 4);
  const Job job = MakeJob(model, machine, training, {});
  Plan once = Shape(1, RecomputeKind::kFull, 3, 2), twice = once;
  twice.placement.microbatches = 2;
  const StageMemory a = Evaluate(job, once).stages[0], b = Evaluate(job, twice).stages[0];
  const double parameters = CountParameters(model).total, root = 2 * kHead;
  const auto more = [&](const char* instant) { return At(b, instant) - At(a, instant); };
  EXPECT_NEAR(more("loss"), 4 * parameters / 2, 1);
  EXPECT_NEAR(more("gradient reduction"), 4 * root / 2, 1e4);  // the last norm is of the root too
  EXPECT_EQ(more("optimizer step"), 0);
}

// Under a pipeline FSDP keeps whole gradients, and no shards, until the step's last micro batch.
TEST(Memory, FsdpUnderAPipelineReducesAtTheEnd) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 8);
  const Training training = Of(FrameworkId::kTorchtitan, 8);
  const Job job = MakeJob(model, machine, training, {});
  Plan plan = Shape(1, RecomputeKind::kFull, 3, 4);
  plan.placement.pp = 2;
  const auto last_stage = [&](int microbatches) {
    plan.placement.microbatches = microbatches;
    return Evaluate(job, plan).stages[1];
  };
  // At the second loss the first micro batch's gradients are there, whole and in fp32.
  const StageMemory a = last_stage(1), b = last_stage(2);
  const double states = b.parts[static_cast<std::size_t>(MemoryPart::kOptimizerStates)].value;
  EXPECT_NEAR(At(b, "loss") - At(a, "loss"), 4 * 4 * states / 8, 1);
}

// Releases of torchtitan that compile the loss gather and reduce embedding and head each by itself.
TEST(Memory, TorchtitanGathersEmbeddingAndHeadApart) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 2);
  Training training = Of(FrameworkId::kTorchtitan, 2);
  training.compile = true;
  const auto in_backward = [&](LossImpl loss) {
    training.loss = loss;
    const Evaluation e =
        Evaluate(MakeJob(model, machine, training, {}), Shape(1, RecomputeKind::kFull, 3, 2));
    return At(e.stages[0], "first layer backward");
  };
  // One layer and the embedding are gathered instead of two layers, embedding and head; the head's
  // fp32 shard stands where its 16-bit gradient waited.
  const double layer = 2 * (CountParameters(model).total - 2 * kHead) / kLayers;
  EXPECT_NEAR(in_backward(LossImpl::kEager) - in_backward(LossImpl::kCompiled),
              layer + (2 + 2 - 4 / 2) * kHead, 1e5);
}

// fp8_param_gather: the weights of products in 8 bits and, on Hopper, their transpose are all there
// is; else they stand beside the 16-bit ones.
TEST(Memory, WeightsInEightBitsReplaceTheSixteenBitOnes) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 1);
  Training training = Of(FrameworkId::kMegatron, 1);
  training.precision = Precision::kFp8;
  const auto parameters = [&](bool alone) {
    training.fp8_params = alone;
    const Evaluation e =
        Evaluate(MakeJob(model, machine, training, {}), Shape(1, RecomputeKind::kFull, 0, 1));
    return e.stages[0].parts[static_cast<std::size_t>(MemoryPart::kParameters)].value;
  };
  // Key and value projections are too narrow for 8 bits.
  const double products = kLayers * (2 * kHidden * kHidden + 3 * kHidden * kFfn);
  EXPECT_NEAR(parameters(true), 2 * CountParameters(model).total, 0.001 * products);
  EXPECT_NEAR(parameters(false) - parameters(true), 2 * products, 1);
}

// bitsandbytes' paged optimizers keep their moments in managed memory.
TEST(Memory, PagedMomentsAreTheHosts) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 1);
  Training training = Of(FrameworkId::kFsdp, 1);
  training.optimizer = Optimizer::kAdamW8bit;
  const auto evaluated = [&](OptimizerImpl impl) {
    training.optimizer_impl = impl;
    return Evaluate(MakeJob(model, machine, training, {}), Shape(1, RecomputeKind::kFull, 0, 1));
  };
  const Evaluation paged = evaluated(OptimizerImpl::kPaged),
                   fused = evaluated(OptimizerImpl::kFused);
  const double moments = 2 * CountParameters(model).total;
  EXPECT_NEAR((fused.peak_allocated - paged.peak_allocated).value, moments, 0.01 * moments);
  EXPECT_GT(paged.step.host.value, moments);
}

// Gradients that several micro batches add to exist at the loss already.
TEST(Memory, AccumulationKeepsTheGradientsAtTheLoss) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 1);
  Training training = Of(FrameworkId::kHf, 4);
  training.precision = Precision::kBf16True;
  const Job job = MakeJob(model, machine, training, {});
  Plan once = Shape(4, RecomputeKind::kNone, 0, 1), twice = Shape(2, RecomputeKind::kNone, 0, 1);
  twice.placement.microbatches = 2;
  const double a = At(Evaluate(job, once).stages[0], "loss"),
               b = At(Evaluate(job, twice).stages[0], "loss");
  const double per_sequence = Saved(training, {.micro_batch_size = 1}) * 2048 * kLayers;
  EXPECT_NEAR(a - b, 2 * per_sequence - 2 * CountParameters(model).total, 0.05 * a);
}

// Applied in the backward pass, gradients and the optimizer's temporaries are of one tensor.
TEST(Memory, AppliedGradientsAreOfOneTensor) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 1);
  Training training = Of(FrameworkId::kFsdp, 1);
  training.precision = Precision::kBf16True;
  training.optimizer_impl = OptimizerImpl::kForeach;
  training.optimizer_in_backward = true;
  const Evaluation e =
      Evaluate(MakeJob(model, machine, training, {}), Shape(1, RecomputeKind::kFull, 0, 1));
  const double states = 6 * CountParameters(model).total;  // bf16 weights and two moments
  EXPECT_NEAR(At(e.stages[0], "optimizer step"),
              states + 2 * kHead + 2 * kHead + BlasWorkspaces(machine.gpu).value, 0.01 * states);
}

// bitsandbytes updates in one kernel; torchao in fp32 copies, tensor by tensor.
TEST(Memory, EightBitAdamNeedsCopiesUnlessFused) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 1);
  Training training = Of(FrameworkId::kFsdp, 1);
  training.optimizer = Optimizer::kAdamW8bit;
  const auto step = [&](OptimizerImpl impl) {
    training.optimizer_impl = impl;
    const Job job = MakeJob(model, machine, training, {});
    return At(Evaluate(job, Shape(1, RecomputeKind::kFull, 0, 1)).stages[0], "optimizer step");
  };
  EXPECT_NEAR(step(OptimizerImpl::kForeach) - step(OptimizerImpl::kFused), 12 * kHead, 1);
}

// DeepSpeed's buckets live from the first backward to the optimizer's step.
TEST(Memory, DeepspeedFreesItsBucketsBeforeTheOptimizersStep) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 8);
  const Training training = Of(FrameworkId::kDeepspeed, 8);
  const Evaluation e =
      Evaluate(MakeJob(model, machine, training, {}), Shape(1, RecomputeKind::kFull, 2, 8));
  const MemoryParts& parts = e.stages[0].parts;
  EXPECT_NEAR(parts[static_cast<std::size_t>(MemoryPart::kBuckets)].value, 2e9, 1);
  const double shard = CountParameters(model).total / 8, states = 12 * shard;
  EXPECT_NEAR(At(e.stages[0], "optimizer step"),
              2 * 8 * shard + states + 2 * shard + 4 * shard + BlasWorkspaces(machine.gpu).value,
              0.01 * states);
}

TEST(Memory, DeepspeedsKnobsSetBucketsAndLiveParameters) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 8);
  Training training = Of(FrameworkId::kDeepspeed, 8);
  training.reduce_bucket_size = 1e8;
  training.overlap_comm = false;
  training.max_live_parameters = 3e8;
  const Evaluation e =
      Evaluate(MakeJob(model, machine, training, {}), Shape(1, RecomputeKind::kFull, 3, 8));
  const auto part = [&](MemoryPart which) {
    return e.stages[0].parts[static_cast<std::size_t>(which)].value;
  };
  EXPECT_NEAR(part(MemoryPart::kGathered), 2 * 3e8, 1);
  EXPECT_GE(part(MemoryPart::kBuckets), 2e8);
  EXPECT_LT(part(MemoryPart::kBuckets), 2e9);
}

// A view into the buckets is the gradient itself; else the buckets are a copy of it.
TEST(Memory, BucketViewsSaveACopyOfTheGradients) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 2);
  Training training = Of(FrameworkId::kDdp, 2);
  const auto step = [&](bool view) {
    training.gradient_as_bucket_view = view;
    const Job job = MakeJob(model, machine, training, {});
    return At(Evaluate(job, Shape(1, RecomputeKind::kFull, 0, 2)).stages[0], "optimizer step");
  };
  EXPECT_NEAR(step(false) - step(true), 4 * CountParameters(model).total, 1);
}

// Gemma-2's tanh over the logits keeps its output, in the dtype of products.
TEST(Memory, SoftCapsKeepACopyOfTheLogits) {
  Model model = TinyLlama();
  const Machine machine = H200(1, 1);
  const Training training = Of(FrameworkId::kHf, 1);
  const auto loss = [&] {
    const Job job = MakeJob(model, machine, training, {});
    return At(Evaluate(job, Shape(1, RecomputeKind::kFull, 0, 1)).stages[0], "loss backward");
  };
  const double plain = loss();
  model.facts.soft_capped_logits = true;
  EXPECT_NEAR(loss() - plain, 2 * 2048 * kVocab, 1);
}

// Ring and gathered context parallelism hold all ranks' keys and values while attention runs.
TEST(Memory, ContextParallelismBringsAllKeysAndValues) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 8);
  const Training training = Of(FrameworkId::kMegatron, 8);
  const Job job = MakeJob(model, machine, training, {});
  const auto workspace = [&](CpKind kind) {
    const Sharding sharding{.cp = 4, .cp_kind = kind, .micro_batch_size = 1};
    return CostLayers(job, sharding).blocks[0].workspace.value;
  };
  const double keys_and_values = 2 * 2 * 256 * 2048;  // 4 heads of 64, whole sequence, 16 bits
  EXPECT_NEAR(workspace(CpKind::kRing), std::max(2 * keys_and_values, workspace(CpKind::kUlysses)),
              1);
}

// Selective recomputation of a loop over FSDP is every second block in full.
TEST(Memory, SelectiveUnderFsdpIsEverySecondBlock) {
  const Model model = TinyLlama();
  const Machine machine = H200(1, 2);
  const Training training = Of(FrameworkId::kFsdp, 2);
  const Job job = MakeJob(model, machine, training, {});
  Plan layers = Shape(1, RecomputeKind::kLayers, 3, 2);
  layers.sharding.recompute.layers = {static_cast<int>(kLayers) / 2};
  const Evaluation a = Evaluate(job, Shape(1, RecomputeKind::kSelective, 3, 2)),
                   b = Evaluate(job, layers);
  EXPECT_EQ(a.peak_allocated, b.peak_allocated);
  EXPECT_EQ(a.step.Time(), b.step.Time());
}

// Quantized weights of the layers' products stand beside the 16-bit ones; Blackwell needs no
// transpose.
TEST(Memory, QuantizedWeightsStandBesideTheOthers) {
  const Model model = TinyLlama();
  Machine machine = H200(1, 1);
  Training training = Of(FrameworkId::kMegatron, 1);
  const auto parameters = [&](Precision precision, bool params) {
    training.precision = precision;
    training.fp8_params = params;
    const Job job = MakeJob(model, machine, training, {});
    const Evaluation e = Evaluate(job, Shape(1, RecomputeKind::kFull, 0, 1));
    return e.stages[0].parts[static_cast<std::size_t>(MemoryPart::kParameters)].value;
  };
  const double plain = parameters(Precision::kBf16Mixed, false), head = 2 * kHead;
  const double products = plain / 2 - head;  // and a few norms; small k, v projections stay in 16
  EXPECT_NEAR(parameters(Precision::kFp8, false) - plain, 2 * products, 0.03 * plain);
  EXPECT_EQ(parameters(Precision::kFp8, true), plain);
  EXPECT_NEAR(parameters(Precision::kMxfp8, false) - plain, 2 * 33.0 / 32 * products, 0.03 * plain);
  machine.gpu.architecture = Architecture::kBlackwell;
  EXPECT_NEAR(parameters(Precision::kFp8, false) - plain, products, 0.03 * plain);
  EXPECT_NEAR(parameters(Precision::kNvfp4, false) - plain, 2 * 9.0 / 16 * products, 0.03 * plain);
}

// ALiBi and a norm after the embedding are in no Megatron but BigScience's.
TEST(Memory, BloomTrainsUnderBigSciencesFork) {
  Training training = Of(FrameworkId::kMegatron, 8);
  Model model = TinyLlama();
  const Conventions plain = FrameworkOf(FrameworkId::kMegatron).conventions(training, model);
  model.family = "bloom";
  const Conventions fork = FrameworkOf(FrameworkId::kMegatron).conventions(training, model);
  EXPECT_EQ(fork.gradient_bytes, plain.gradient_bytes + 2);
  EXPECT_EQ(fork.fixed_buffer_bytes, 2e9);
}
}  // namespace
}  // namespace shardplan
