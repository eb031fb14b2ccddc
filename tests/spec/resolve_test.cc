// SPDX-License-Identifier: Apache-2.0
// What a spec that leaves things out comes to.
#include <gtest/gtest.h>

#include "planner/spec/problem.h"

namespace shardplan {
namespace {

Problem Resolve(const std::vector<std::string>& sets = {}) {
  const char* const spec =
      "model: {preset: llama-3-8b}\n"
      "cluster: {gpu: h100-sxm-80gb}\n"
      "train: {seq_length: 4096, global_batch_size: 64}\n";
  Result<Problem> read = ParseProblem(spec, "spec.yaml", sets, Needs::kAll);
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return read ? *read : Problem();
}
Training Train(const std::string& framework, const std::string& precision = "bf16-mixed") {
  return Resolve({"train.framework=" + framework, "train.precision=" + precision}).training;
}

TEST(ResolveTrain, MegatronIsTheDefault) {
  const Training t = Resolve().training;
  EXPECT_EQ(t.framework, FrameworkId::kMegatron);
  EXPECT_EQ(t.precision, Precision::kBf16Mixed);
  EXPECT_EQ(t.framework_version, FrameworkOf(FrameworkId::kMegatron).newest_version);
  EXPECT_EQ(t.optimizer, Optimizer::kAdamW);
  EXPECT_EQ(t.task, Task::kPretrain);
}

TEST(ResolveTrain, WhatHappensOutsideTheStep) {
  const Training silent = Resolve().training;
  EXPECT_EQ(silent.max_sample_length, 0);
  EXPECT_EQ(silent.eval_batch_size, 0);
  EXPECT_EQ(silent.checkpoint, CheckpointStyle::kSharded);
  const Training said = Resolve({"train.max_sample_length=16384", "train.eval_batch_size=8",
                                 "train.checkpoint=async"})
                            .training;
  EXPECT_EQ(said.max_sample_length, 16384);
  EXPECT_EQ(said.eval_batch_size, 8);
  EXPECT_EQ(said.checkpoint, CheckpointStyle::kAsync);
}

// 18 bytes a parameter in bf16, 20 in fp16 (Megatron's README).
TEST(ResolveTrain, MegatronsMainGradientsFollowThePrecision) {
  EXPECT_EQ(Train("megatron").gradient_dtype, Dtype::kFp32);
  EXPECT_EQ(Train("megatron").reduce_dtype, Dtype::kFp32);
  EXPECT_EQ(Train("megatron", "fp16-mixed").gradient_dtype, Dtype::kFp16);
  EXPECT_EQ(Train("megatron", "fp8").gradient_dtype, Dtype::kFp32);
}

TEST(ResolveTrain, DeepspeedKeepsSixteenBitGradients) {
  EXPECT_EQ(Train("deepspeed").gradient_dtype, Dtype::kBf16);
  EXPECT_EQ(Train("deepspeed", "fp16-mixed").gradient_dtype, Dtype::kFp16);
  EXPECT_EQ(Train("deepspeed").optimizer_state_dtype, Dtype::kFp32);
}

TEST(ResolveTrain, TruePrecisionsKeepOneDtype) {
  for (const char* framework : {"megatron", "torchtitan", "fsdp", "deepspeed", "ddp", "hf"}) {
    const Training t = Train(framework, "bf16-true");
    EXPECT_EQ(t.gradient_dtype, Dtype::kBf16) << framework;
    EXPECT_EQ(t.optimizer_state_dtype, Dtype::kBf16) << framework;
    EXPECT_EQ(Train(framework, "fp32").gradient_dtype, Dtype::kFp32) << framework;
  }
}

TEST(ResolveTrain, LossAndOptimizerAreTheFrameworks) {
  EXPECT_EQ(Train("megatron").loss, LossImpl::kVocabParallel);
  EXPECT_EQ(Train("hf").loss, LossImpl::kEager);
  EXPECT_EQ(Train("torchtitan").loss, LossImpl::kEager);
  EXPECT_EQ(Resolve({"train.framework=fsdp", "train.compile=true"}).training.loss,
            LossImpl::kEager);
  EXPECT_EQ(Train("fsdp").optimizer_impl, OptimizerImpl::kForeach);
  EXPECT_EQ(Train("megatron").optimizer_impl, OptimizerImpl::kFused);
  EXPECT_TRUE(Train("megatron").vocab_parallel);
  EXPECT_FALSE(Train("hf").vocab_parallel);
}

// torchtitan compiles the loss since February 2025; a spec tells that it is so recent by its
// version or by a setting that came later.
TEST(ResolveTrain, TorchtitanCompilesTheLossWhereTheSpecIsRecent) {
  const auto loss = [](std::vector<std::string> sets) {
    sets.insert(sets.begin(), {"train.framework=torchtitan", "train.compile=true"});
    return Resolve(sets).training.loss;
  };
  EXPECT_EQ(loss({}), LossImpl::kEager);
  EXPECT_EQ(loss({"train.framework_version=0.2"}), LossImpl::kCompiled);
  EXPECT_EQ(loss({"train.precision=fp8", "train.fp8.recipe=rowwise"}), LossImpl::kCompiled);
  EXPECT_EQ(loss({"train.precision=mxfp8"}), LossImpl::kCompiled);
  EXPECT_EQ(loss({"train.precision=mxfp8", "train.compile=false"}), LossImpl::kEager);
}

TEST(ResolveTrain, WhatIsGivenWins) {
  const Training t =
      Resolve({"train.gradient_dtype=bf16", "train.loss=te", "train.optimizer_impl=for-loop",
               "train.vocab_parallel=false", "train.attention=eager", "train.framework_version=0.9",
               "train.moe={capacity_factor: 1.25, imbalance: 2}", "train.fp8.recipe=rowwise"})
          .training;
  EXPECT_EQ(t.gradient_dtype, Dtype::kBf16);
  EXPECT_EQ(t.loss, LossImpl::kTe);
  EXPECT_EQ(t.optimizer_impl, OptimizerImpl::kForLoop);
  EXPECT_FALSE(t.vocab_parallel);
  EXPECT_EQ(t.attention, AttentionImpl::kEager);
  EXPECT_EQ(t.framework_version, "0.9");
  EXPECT_EQ(t.moe_imbalance, 1.25) << "beyond the capacity tokens are dropped";
  EXPECT_EQ(t.fp8_recipe, Fp8Recipe::kRowwise);
}

TEST(ResolveCluster, TheCustomaryNodeFillsIn) {
  const Machine m = Resolve().machine;
  EXPECT_EQ(m.nodes, 1);
  EXPECT_EQ(m.gpus_per_node, 8);
  EXPECT_EQ(m.scale_up_domain, 8);
  EXPECT_EQ(m.scale_up.kind, "nvlink4");
  EXPECT_EQ(m.scale_up.bandwidth.value, 450e9);
  EXPECT_EQ(m.scale_out.nics, 8);
  EXPECT_EQ(m.scale_out.rate.value, 50e9);
  EXPECT_GT(m.host.memory.value, 1e12);
  EXPECT_EQ(m.gpu.power_limit_watts, m.gpu.tdp_watts);
}

TEST(ResolveCluster, ADomainWithinANodeShrinksWithIt) {
  EXPECT_EQ(Resolve({"cluster.gpus_per_node=4"}).machine.scale_up_domain, 4);
  EXPECT_EQ(
      Resolve({"cluster.gpus_per_node=4", "cluster.scale_up_domain=2"}).machine.scale_up_domain, 2);
  EXPECT_EQ(Resolve({"cluster.preset=dgx-h100", "cluster.gpus_per_node=4"}).machine.scale_up_domain,
            4);
}

TEST(ResolveCluster, ADomainOverNodesDoesNot) {
  const Machine m = Resolve({"cluster.gpu=gb200", "cluster.nodes=36"}).machine;
  EXPECT_EQ(m.gpus_per_node, 4);
  EXPECT_EQ(m.scale_up_domain, 72);
  EXPECT_EQ(m.Gpus(), 144);
}

TEST(ResolveCluster, NicsGoWithGpus) {
  EXPECT_EQ(Resolve({"cluster.gpus_per_node=4"}).machine.scale_out.nics, 4);
  EXPECT_EQ(Resolve({"cluster.gpus_per_node=1"}).machine.scale_out.nics, 1);
  EXPECT_EQ(Resolve({"cluster.gpus_per_node=4", "cluster.scale_out=8x200Gb/s roce"})
                .machine.scale_out.nics,
            8)
      << "what is given counts";
}

// The A800 is an A100 with 8 of its 12 NVLinks.
TEST(ResolveCluster, FewerLinksCarryLess) {
  EXPECT_EQ(Resolve({"cluster.gpu=a100-sxm-80gb"}).machine.scale_up.bandwidth.value, 300e9);
  EXPECT_EQ(Resolve({"cluster.gpu=a800-sxm-80gb"}).machine.scale_up.bandwidth.value, 200e9);
}

TEST(ResolveCluster, OverridesKeepTheRestOfTheCatalogue) {
  const Machine m = Resolve({"cluster.gpu.memory=96GiB", "cluster.gpu.power_limit=500W",
                             "cluster.scale_up.latency=3us", "cluster.scale_out.latency=9us",
                             "cluster.nvme.capacity=1TB"})
                        .machine;
  EXPECT_EQ(m.gpu.memory.value, 96.0 * (1u << 30));
  EXPECT_EQ(m.gpu.power_limit_watts, 500);
  EXPECT_EQ(m.gpu.tdp_watts, 700);
  EXPECT_DOUBLE_EQ(m.scale_up.latency.value, 3e-6);
  EXPECT_EQ(m.scale_up.bandwidth.value, 450e9);
  EXPECT_DOUBLE_EQ(m.scale_out.latency.value, 9e-6);
  EXPECT_EQ(m.scale_out.nics, 8);
  EXPECT_EQ(m.host.nvme.value, 1e12);
  EXPECT_GT(m.host.nvme_read.value, 1e9);
}

TEST(ResolveCluster, APresetGivesWayToTheSpec) {
  const Machine m =
      Resolve({"cluster.preset=dgx-h100", "cluster.gpu=h200-sxm", "cluster.nodes=4"}).machine;
  EXPECT_EQ(m.gpu.name, "h200-sxm");
  EXPECT_EQ(m.nodes, 4);
  EXPECT_EQ(m.scale_out.nics, 8);
}

// 2.9 came before 2.28.
TEST(ResolveCluster, NcclVersionsAreOrdered) {
  const auto version = [](const char* text) {
    return Resolve({std::string("cluster.nccl.version=") + text}).machine.nccl.version;
  };
  EXPECT_DOUBLE_EQ(version("2.28"), 2.28);
  EXPECT_DOUBLE_EQ(version("2.28.3"), 2.28);
  EXPECT_LT(version("2.9"), version("2.18"));
}

TEST(ResolveCluster, NcclVariablesAreText) {
  const NcclSettings nccl =
      Resolve({"cluster.nccl={NCCL_NVLS_ENABLE: 0, NCCL_ALGO: Ring, NCCL_BUFFSIZE: 8388608}"})
          .machine.nccl;
  EXPECT_FALSE(nccl.nvls);
  EXPECT_EQ(nccl.variables.at("NCCL_ALGO"), "Ring");
  EXPECT_EQ(nccl.variables.at("NCCL_BUFFSIZE"), "8388608");
}

TEST(ResolvePlan, LeftOutIsLeftOpen) {
  const Wishes w = Resolve().wishes;
  EXPECT_TRUE(w.tp.empty() && w.pp.empty() && w.sp.empty() && w.recompute.empty() &&
              w.stage_layers.empty() && w.offload.empty());
  EXPECT_FALSE(w.overlap_tp.has_value());
}

TEST(ResolvePlan, CandidatesAreTriedOnce) {
  const Wishes w =
      Resolve({"plan.tp=[4, 2, 4]", "plan.sp=[true, false]", "plan.recompute=[full, none]",
               "plan.stage_layers=[[16, 16], [15, 17]]", "plan.overlap.p2p=false",
               "plan.offload=optimizer+params", "plan.schedule=zb-v"})
          .wishes;
  EXPECT_EQ(w.tp, (std::vector<int>{4, 2}));
  EXPECT_EQ(w.sp, (std::vector<bool>{true, false}));
  EXPECT_EQ(w.recompute.size(), 2u);
  EXPECT_EQ(w.recompute[0].kind, RecomputeKind::kFull);
  EXPECT_EQ(w.stage_layers[1], (std::vector<int>{15, 17}));
  EXPECT_EQ(w.overlap_p2p, false);
  EXPECT_EQ(w.offload, std::vector<Offload>{Offload::kOptimizerAndParams});
  EXPECT_EQ(w.schedule, std::vector<Schedule>{Schedule::kZbV});
}

TEST(ResolvePlan, RecomputeModulesAreBits) {
  const Recompute recompute =
      Resolve({"plan.recompute={modules: [core_attn, norm, act]}"}).wishes.recompute.at(0);
  EXPECT_EQ(recompute.kind, RecomputeKind::kModules);
  const auto bit = [](Module module) { return 1u << static_cast<int>(module); };
  EXPECT_EQ(recompute.modules,
            bit(Module::kCoreAttention) | bit(Module::kLayernorm) | bit(Module::kActivation));
  const Recompute layers = Resolve({"plan.recompute={layers: 4}"}).wishes.recompute.at(0);
  EXPECT_EQ(layers.kind, RecomputeKind::kLayers);
  EXPECT_EQ(layers.layers, std::vector<int>{4});
}

TEST(ResolveSearch, Options) {
  const Problem p = Resolve({"search={objective: cost, keep: 5, memory_reserve: 2GiB}"});
  EXPECT_EQ(p.search.objective, Objective::kCost);
  EXPECT_EQ(p.search.keep, 5);
  EXPECT_EQ(p.memory_reserve.value, 2.0 * (1u << 30));
  EXPECT_EQ(Resolve().search.keep, 20);
}

TEST(SpecHash, FollowsTheMeaningOfASpec) {
  EXPECT_EQ(Resolve().spec_hash, Resolve().spec_hash);
  EXPECT_EQ(Resolve({"plan.tp=4"}).spec_hash, Resolve({"plan.tp=[4]"}).spec_hash);
  EXPECT_EQ(Resolve({"cluster.host_memory=1TiB"}).spec_hash,
            Resolve({"cluster.host_memory=1024GiB"}).spec_hash);
  EXPECT_NE(Resolve({"plan.tp=4"}).spec_hash, Resolve({"plan.tp=8"}).spec_hash);
  EXPECT_NE(Resolve({"model.num_hidden_layers=16"}).spec_hash, Resolve().spec_hash);
  EXPECT_NE(Resolve({"cluster.gpu=h200-sxm"}).spec_hash, Resolve().spec_hash);
}

}  // namespace
}  // namespace shardplan
