// SPDX-License-Identifier: Apache-2.0
#include "planner/framework/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/framework/toys.h"

namespace shardplan {
namespace {
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A plan that every framework runs, to be changed in one point.
Plan PlanFor(const Machine& machine, const Training& training) {
  Plan plan;
  plan.placement.dp = machine.Gpus();
  plan.placement.microbatches = static_cast<int>(training.global_batch_size) / machine.Gpus();
  return plan;
}

// What rules say of a change: "M2 tp 12 does not ...", one entry a rule.
template <class Change>
std::vector<std::string> Said(const Model& model, const Machine& machine, const Training& training,
                              const Change& change) {
  Plan plan = PlanFor(machine, training);
  change(plan);
  auto& [s, p, q] = plan;
  p.dp = std::max(1, machine.Gpus() / (s.tp * s.cp * p.pp));
  p.microbatches =
      std::max(1, static_cast<int>(training.global_batch_size) / (p.dp * s.micro_batch_size));
  std::vector<std::string> said;
  for (const Reason& reason : BrokenRules(model, machine, training, plan))
    said.push_back(reason.rule + " " + reason.text);
  return said;
}

class RulesOf : public ::testing::Test {
 protected:
  template <class Change>
  std::vector<std::string> Said(const Change& change) const {
    return shardplan::Said(model_, machine_, training_, change);
  }
  Model model_ = toys::Llama70B();
  Machine machine_ = toys::Hopper(8);
  Training training_ = toys::With(FrameworkId::kMegatron);
};
using Megatron = RulesOf;
struct Torchtitan : RulesOf {
  Torchtitan() { training_ = toys::With(FrameworkId::kTorchtitan); }
};
struct Deepspeed : RulesOf {
  Deepspeed() { training_ = toys::With(FrameworkId::kDeepspeed); }
};
struct Others : RulesOf {
  void Use(FrameworkId id) { training_ = toys::With(id); }
};

TEST_F(Megatron, TakesAPlainPlan) {
  EXPECT_THAT(Said([](Plan&) {}), IsEmpty());
}

TEST_F(Megatron, NamesTheTensorDegreesThatWork) {
  machine_ = toys::Hopper(12);
  training_.global_batch_size = 960;
  model_.facts.intermediate_size = 3 * 28672;
  EXPECT_THAT(
      Said([](Plan& plan) { plan.sharding.tp = 12; }),
      ElementsAre("M2 tp 12 does not divide num_attention_heads (64); of 1..64 these work: "
                  "1 2 4 8 16 32 64",
                  "M2 num_key_value_heads (8) is neither a multiple nor a divisor of tp 12; "
                  "of 1..64 these work: 1 2 4 8 16 24 32 40 48 56 64"));
}

TEST_F(Megatron, WantsPositionsForTheWholeSequence) {
  model_.facts.position_rows = 2048;
  training_.seq_length = 2048;
  EXPECT_THAT(Said([](Plan&) {}), IsEmpty());
  training_.seq_length = 4096;
  EXPECT_THAT(
      Said([](Plan&) {}),
      ElementsAre("M18 seq_length 4096 is longer than the model's table of learned positions "
                  "(2048); a seq_length up to that works, or "
                  "model.max_position_embeddings: 4096"));
}

TEST_F(Megatron, WantsAGpuThatMultipliesInThePrecision) {
  machine_.gpu.bf16 = machine_.gpu.fp8 = machine_.gpu.fp4 = {};
  machine_.gpu.name = "v100";
  EXPECT_THAT(Said([](Plan&) {}),
              ElementsAre(testing::StartsWith("M15 bf16 needs Ampere or newer; v100 has:")));
}

TEST_F(Megatron, ReplicatesKeyValueHeads) {
  EXPECT_THAT(Said([](Plan& plan) { plan.sharding.tp = 16; }), IsEmpty());
}

TEST_F(Megatron, CountsTheWorld) {
  EXPECT_THAT(Said([](Plan& plan) { plan.placement.pp = 5; }),
              ElementsAre("M1 tp 1 x cp 1 x pp 5 = 5 does not divide the 64 GPUs; with tp 1 and cp "
                          "1 these pp work: 1 2 4 8 16 32 64"));
  Plan plan = PlanFor(machine_, training_);
  plan.sharding.tp = 8;
  plan.placement.dp = 4;
  const auto reasons = BrokenRules(model_, machine_, training_, plan);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].text,
            "tp 8 x cp 1 x pp 1 x dp 4 = 32, and there are 64 GPUs; dp 8 uses them all");
}

TEST_F(Megatron, PutsExpertsOnTheRanksOfAStage) {
  model_ = toys::WithExperts(toys::Dense(48, 32, 8), 128, 768);
  EXPECT_THAT(
      Said([](Plan& plan) {
        plan.sharding.ep = 64;
        plan.placement.pp = 4;
      }),
      ElementsAre("M1 ep 64 x etp 1 = 64 does not divide the 16 GPUs of a stage (64 over pp "
                  "4); with etp 1 these ep work: 1 2 4 8 16"));
  EXPECT_THAT(
      Said([](Plan& plan) { plan.sharding.ep = 48; }),
      ElementsAre("M10 ep 48 does not divide the 128 experts; of 1..128 these work: 1 2 4 8 "
                  "16 32 64 128",
                  "M1 ep 48 x etp 1 = 48 does not divide the 64 GPUs; with etp 1 these ep "
                  "work: 1 2 4 8 16 32 64"));
  EXPECT_THAT(Said([](Plan& plan) { plan.sharding.tp = 2; }),
              ElementsAre("M8 experts under tp 2 need sequence parallelism; set sp true, or tp 1"));
}

TEST_F(Megatron, HasNoExpertsInADenseModel) {
  EXPECT_THAT(
      Said([](Plan& plan) { plan.sharding.ep = 8; }),
      ElementsAre("M10 ep 8 needs a model with experts, and llama-70b has none; ep 1 works"));
}

TEST_F(Megatron, SplitsLayersAsALayoutCan) {
  model_ = toys::Dense(8, 64, 8);
  machine_ = toys::Hopper(2);
  EXPECT_THAT(
      Said([](Plan& plan) { plan.placement.pp = 16; }),
      ElementsAre("M3 megatron cannot split 8 layers into pp 16 stages; of 1..8 these work: "
                  "1 2 3 4 5 6 7 8"));
  EXPECT_THAT(
      Said([](Plan& plan) {
        plan.placement = {.pp = 4, .vpp = 5, .schedule = Schedule::kInterleaved};
      }),
      ElementsAre("M3 megatron cannot split 8 layers into pp 4 x vpp 5 = 20 stages; with pp 4 "
                  "these vpp work: 1 2"));
  EXPECT_THAT(Said([](Plan& plan) {
                plan.placement.pp = 4;
                plan.placement.stage_layers = {2, 3, 2};
              }),
              ElementsAre("M3 stage_layers has 3 entries for pp 4 x vpp 1: give 4; this works: "
                          "2,2,2,2"));
  EXPECT_THAT(
      Said([](Plan& plan) {
        plan.placement.pp = 4;
        plan.placement.stage_layers = {2, 3, 2, 2};
      }),
      ElementsAre("M3 stage_layers add up to 9, the model has 8 layers; this works: 2,2,2,2"));
  EXPECT_THAT(
      Said([](Plan& plan) {
        plan.placement.pp = 4;
        plan.placement.stage_layers = {4, 0, 2, 2};
      }),
      ElementsAre("M3 stage_layers has a stage without layers, which only the first and the "
                  "last may be; this works: 2,2,2,2"));
}

TEST_F(Megatron, MatchesSchedulesWithVirtualStages) {
  EXPECT_THAT(
      Said([](Plan& plan) { plan.placement.vpp = 2; }),
      ElementsAre("M5 vpp 2 cuts the stages of a pipeline, and pp is 1; set pp > 1 or vpp 1"));
  EXPECT_THAT(
      Said([](Plan& plan) {
        plan.placement.pp = 4;
        plan.placement.vpp = 2;
      }),
      ElementsAre("M5 vpp 2 is for schedule interleaved, not 1f1b; leave schedule out, or set "
                  "vpp 1"));
  EXPECT_THAT(
      Said([](Plan& plan) {
        plan.placement.pp = 4;
        plan.placement.schedule = Schedule::kInterleaved;
      }),
      ElementsAre("M5 schedule interleaved needs virtual stages, and vpp is 1; set vpp > 1, or "
                  "schedule 1f1b"));
  EXPECT_THAT(
      Said([](Plan& plan) {
        plan.placement.pp = 4;
        plan.placement.schedule = Schedule::kGpipe;
      }),
      ElementsAre("G9 megatron has no schedule gpipe; it has: 1f1b, interleaved, zb-h1, zb-v"));
  EXPECT_THAT(
      Said([](Plan& plan) {
        plan.placement = {.pp = 2, .vpp = 2, .schedule = Schedule::kInterleaved};
      }),
      ElementsAre("M5 vpp > 1 with pp 2 needs overlap.p2p; set it true, or pp > 2, or vpp 1"));
}

// Older releases fix the group of micro batches to pp; later ones let it be pp to all of them.
TEST_F(Megatron, AsksLessOfMicroBatchesSinceCore10) {
  training_.global_batch_size = 96;  // 6 micro batches on pp 4
  const auto interleave = [](Plan& plan) {
    plan.placement = {.pp = 4, .vpp = 5, .schedule = Schedule::kInterleaved};
  };
  EXPECT_THAT(Said(interleave), IsEmpty());
  training_.framework_version = "0.9";
  EXPECT_THAT(
      Said(interleave),
      ElementsAre("M6 before Megatron-Core 0.10 schedule interleaved needs a multiple of pp 4 "
                  "micro batches, and there are 6; vpp 1 works"));
  training_.framework_version = "0.14";
  training_.global_batch_size = 32;
  EXPECT_THAT(
      Said(interleave),
      ElementsAre("M6 schedule interleaved needs at least pp 4 micro batches, and there are 2; "
                  "lower micro_batch_size (now 1), or global_batch_size 64 works"));
}

TEST_F(Megatron, CutsTheBatch) {
  EXPECT_THAT(Said([](Plan& plan) { plan.sharding.micro_batch_size = 3; }),
              ElementsAre("M7 global_batch_size 1024 is not a multiple of micro_batch_size 3; of "
                          "1..1024 these work: 1 2 4 8 16 32 64 128 256 512 1024"));
  EXPECT_THAT(
      Said([](Plan& plan) { plan.sharding.micro_batch_size = 32; }),
      ElementsAre("M7 global_batch_size 1024 is not a multiple of micro_batch_size 32 x dp 64 "
                  "= 2048; with dp 64 these micro_batch_size work: 1 2 4 8 16; of "
                  "global_batch_size 2048 works"));
  machine_ = toys::Hopper(9);
  EXPECT_THAT(
      Said([](Plan&) {}),
      ElementsAre("M7 global_batch_size 1024 is not a multiple of micro_batch_size 1 x dp 72 "
                  "= 72; with dp 72 these micro_batch_size work: none; of global_batch_size "
                  "1008 and 1080 work"));
}

TEST_F(Megatron, CutsTheSequence) {
  EXPECT_THAT(
      Said([](Plan& plan) { plan.sharding.sp = true; }),
      ElementsAre("M8 sp true cuts the sequence over tp ranks, and tp is 1; leave sp out, or "
                  "set tp > 1"));
  training_.seq_length = 2052;
  EXPECT_THAT(
      Said([](Plan& plan) { plan.sharding.cp = 4; }),
      ElementsAre("M9 cp 4 does not cut seq_length 2052 into even chunks (two a rank for ring "
                  "attention); of 1..64 these work: 1 2 3 6 9 18 19 27 38 54 57"));
  EXPECT_THAT(
      Said([](Plan& plan) {
        plan.sharding.tp = 8;
        plan.sharding.sp = true;
      }),
      ElementsAre("M8 sp true cuts seq_length 2052 over tp 8 x cp 1 = 8 ranks, which do not "
                  "divide it; with cp 1 these tp work: 1 2 3 4 6 9 12 18 19 27 36 38 ..."));
}

TEST_F(Megatron, CutsHeadsByUlysses) {
  const auto ulysses = [](Plan& plan) {
    plan.sharding.tp = 4;
    plan.sharding.cp = 4;
    plan.sharding.cp_kind = CpKind::kUlysses;
  };
  EXPECT_THAT(Said(ulysses),
              ElementsAre("M9 cp 4 by ulysses does not divide the heads of a tp rank (64 and 8 "
                          "key/value over tp 4); these cp work: 1 2; cp_kind ring needs no such "
                          "thing"));
  model_.facts.kv_heads = 64;
  EXPECT_THAT(Said(ulysses), IsEmpty());
}

TEST_F(Megatron, KnowsWhatOverlapNeeds) {
  EXPECT_THAT(
      Said([](Plan& plan) { plan.policy.overlap.param_gather = true; }),
      ElementsAre("M12 overlap.param_gather needs sharded parameters or optimizer state, and "
                  "zero_stage is 0; these work: 1 2 3, or overlap.param_gather false"));
  EXPECT_THAT(Said([](Plan& plan) { plan.policy.overlap.tp = true; }),
              ElementsAre("M8 overlap.tp needs sequence parallelism; set sp true (tp > 1), or "
                          "overlap.tp false"));
  EXPECT_THAT(Said([](Plan& plan) { plan.policy.overlap.moe = true; }),
              ElementsAre("M17 overlap.moe cannot be: ep is 1; set ep > 1"));
}

TEST_F(Megatron, KnowsWhatCanBeOffloaded) {
  const auto offload = [](Offload what, int zero_stage) {
    return [=](Plan& plan) {
      plan.policy.offload = what;
      plan.policy.zero_stage = zero_stage;
    };
  };
  EXPECT_THAT(Said(offload(Offload::kOptimizer, 1)), IsEmpty());
  EXPECT_THAT(
      Said(offload(Offload::kOptimizer, 0)),
      ElementsAre("M15 megatron offloads optimizer only of sharded state, and zero_stage is "
                  "0; these work: 1 2 3"));
  EXPECT_THAT(
      Said(offload(Offload::kOptimizerAndParams, 3)),
      ElementsAre("G12 megatron has no offload of optimizer+params; it has: none, optimizer, "
                  "activations"));
  training_.optimizer = Optimizer::kMuon;
  EXPECT_THAT(Said(offload(Offload::kOptimizer, 1)),
              ElementsAre("M15 Megatron's CPU optimizer is Adam; optimizer adam or adamw works, or "
                          "offload none"));
}

TEST_F(Megatron, RecomputesModulesThatTheModelHas) {
  const auto modules = [](std::initializer_list<Module> list) {
    return [list = std::vector<Module>(list)](Plan& plan) {
      plan.sharding.recompute.kind = RecomputeKind::kModules;
      for (const Module module : list)
        plan.sharding.recompute.modules |= 1u << static_cast<unsigned>(module);
    };
  };
  EXPECT_THAT(Said(modules({Module::kMlp, Module::kLayernorm})), IsEmpty());
  EXPECT_THAT(
      Said(modules({Module::kMlaUpProjection})),
      ElementsAre("M11 recompute module mla_up_proj needs multi-latent attention; these work: "
                  "core_attn, layernorm, mlp"));
  EXPECT_THAT(Said(modules({Module::kMoe})),
              ElementsAre("M11 recompute modules moe and shared_experts need a model with experts; "
                          "these work: core_attn, layernorm, mlp"));
  training_.framework_version = "0.12";
  EXPECT_THAT(Said(modules({Module::kMlp})),
              ElementsAre("M11 before Megatron-Core 0.13 only module core_attn can be recomputed; "
                          "these work: selective, full, {modules: [core_attn]}"));
}

TEST_F(Megatron, MultipliesWholeBlocksInNarrowPrecision) {
  training_.precision = Precision::kFp8;
  EXPECT_THAT(Said([](Plan& plan) { plan.sharding.tp = 8; }), IsEmpty());
  model_.facts.intermediate_size = 28000;
  EXPECT_THAT(
      Said([](Plan& plan) { plan.sharding.tp = 8; }),
      ElementsAre("M15 intermediate_size / tp is 3500, and narrow precision multiplies blocks "
                  "of 16; these tp work: 1 2; bf16-mixed needs no such thing"));
  training_.precision = Precision::kMxfp8;
  EXPECT_THAT(Said([](Plan&) {}),
              ElementsAre("M15 mxfp8 needs Blackwell or newer; h100 has: fp16-mixed bf16-mixed fp8 "
                          "fp32"));
}

TEST_F(Megatron, SharesShardsInGroupsThatDivideTheDataRanks) {
  const auto group = [](int size, int zero_stage) {
    return [=](Plan& plan) {
      plan.policy.zero_group = size;
      plan.policy.zero_stage = zero_stage;
    };
  };
  EXPECT_THAT(Said(group(8, 1)), IsEmpty());
  EXPECT_THAT(Said(group(24, 1)),
              ElementsAre("G11 zero_group 24 does not divide the 64 data ranks (dp 64 x cp 1); of "
                          "1..64 these work: 1 2 4 8 16 32 64"));
  EXPECT_THAT(Said(group(128, 1)),
              ElementsAre("G11 zero_group 128 does not divide the 64 data ranks (dp 64 x cp 1); of "
                          "1..64 these work: 1 2 4 8 16 32 64"));
  EXPECT_THAT(Said(group(8, 0)),
              ElementsAre("G11 zero_group 8 says how many ranks share one shard, and zero_stage 0 "
                          "shards nothing; leave it out, or set zero_stage > 0"));
}

TEST_F(Torchtitan, DoesNotReplicateKeyValueHeads) {
  EXPECT_THAT(
      Said([](Plan& plan) {
        plan.sharding.tp = 16;
        plan.policy.zero_stage = 3;
      }),
      ElementsAre("T2 tp 16 does not divide num_key_value_heads (8), and torchtitan does not "
                  "replicate them; of 1..8 these work: 1 2 4 8"));
}

TEST_F(Torchtitan, WantsAMicroBatchForEachStage) {
  training_.global_batch_size = 32;
  EXPECT_THAT(Said([](Plan& plan) {
                plan.placement.pp = 4;
                plan.policy.zero_stage = 3;
              }),
              ElementsAre("T5 pp 4 needs at least as many micro batches, and there are 2; lower "
                          "micro_batch_size (now 1) or pp"));
}

TEST_F(Torchtitan, ReplicatesAloneOrNotAtAll) {
  EXPECT_THAT(
      Said([](Plan& plan) { plan.sharding.tp = 2; }),
      ElementsAre("T11 zero_stage 0 (DDP) over dp 32 does not go with tp, cp or pp; zero_stage "
                  "2 and 3 work"));
}

TEST_F(Torchtitan, CompilesAsyncTensorParallelism) {
  const auto async = [](Plan& plan) {
    plan.sharding.tp = 8;
    plan.sharding.sp = plan.policy.overlap.tp = true;
    plan.policy.zero_stage = 3;
  };
  EXPECT_THAT(Said(async),
              ElementsAre("T7 overlap.tp (async TP) needs train.compile; set it true, or "
                          "overlap.tp false"));
  training_.compile = true;
  EXPECT_THAT(Said(async), IsEmpty());
}

TEST_F(Torchtitan, CutsExpertsWholeOrAsAllElseBeforePythonConfigs) {
  model_ = toys::WithExperts(toys::Dense(48, 32, 32), 128, 768);
  const auto half = [](Plan& plan) {
    plan.sharding.tp = 4;
    plan.sharding.etp = 2;
    plan.policy.zero_stage = 3;
  };
  EXPECT_THAT(Said(half), ElementsAre("T3 etp 2 is neither 1 nor tp 4; these work: 1 4"));
  training_.framework_version = "main";
  EXPECT_THAT(Said(half), IsEmpty());
}

TEST_F(Deepspeed, ShardsNoGradientsInAPipeline) {
  EXPECT_THAT(
      Said([](Plan& plan) {
        plan.placement.pp = 4;
        plan.policy.zero_stage = 2;
      }),
      ElementsAre("D3 the pipeline engine has zero_stage 0 and 1, not 2; these work: 0 1, or "
                  "pp 1"));
}

TEST_F(Deepspeed, OffloadsParametersUnderStageThreeOnly) {
  const auto offload = [](int stage) {
    return [=](Plan& plan) {
      plan.policy.offload = Offload::kOptimizerAndParams;
      plan.policy.zero_stage = stage;
    };
  };
  EXPECT_THAT(Said(offload(3)), IsEmpty());
  EXPECT_THAT(Said(offload(2)),
              ElementsAre("D5 deepspeed offloads optimizer+params only of sharded state, and "
                          "zero_stage is 2; these work: 3"));
}

TEST_F(Deepspeed, CutsTheSequenceByUlysses) {
  const auto context = [](CpKind kind) {
    return [=](Plan& plan) {
      plan.sharding.cp = 16;
      plan.sharding.cp_kind = kind;
    };
  };
  EXPECT_THAT(Said(context(CpKind::kUlysses)), IsEmpty());
  EXPECT_THAT(Said(context(CpKind::kRing)),
              ElementsAre("G5 deepspeed's context parallelism is ulysses; cp_kind ulysses works"));
}

TEST_F(Others, LackAxes) {
  Use(FrameworkId::kDdp);
  EXPECT_THAT(
      Said([](Plan& plan) { plan.sharding.tp = 4; }),
      ElementsAre("G1 ddp has no tensor parallelism (tp 4); these have: megatron, torchtitan, "
                  "fsdp, deepspeed, hf, nanotron, native"));
  EXPECT_THAT(Said([](Plan& plan) { plan.placement.pp = 4; }),
              ElementsAre("G1 ddp has no pipeline parallelism (pp 4); these have: megatron, "
                          "torchtitan, fsdp, deepspeed, nanotron, native"));
  EXPECT_THAT(Said([](Plan& plan) { plan.policy.zero_stage = 3; }),
              ElementsAre("G10 ddp has no zero_stage 3; it has: 0 1"));
}

TEST_F(Others, NanotronFillsItsPipeline) {
  Use(FrameworkId::kNanotron);
  training_.global_batch_size = 32;
  EXPECT_THAT(
      Said([](Plan& plan) { plan.placement.pp = 16; }),
      ElementsAre(testing::StartsWith(
          "N1 schedule 1f1b over pp 16 needs at least 15 micro batches, and there are 8;")));
}

TEST_F(Others, AccelerateShardsBesideTensorParallelism) {
  Use(FrameworkId::kHf);
  EXPECT_THAT(Said([](Plan& plan) { plan.sharding.tp = 8; }),
              ElementsAre("A3 accelerate replicates over dp 8 beside tp or cp only where it also "
                          "shards; zero_stage 2 and 3 work"));
}

TEST(BrokenRules, RefusesNumbersThatAreNone) {
  const Machine machine = toys::Hopper(1);
  const Training training = toys::With(FrameworkId::kMegatron);
  Plan plan;
  plan.sharding.tp = 0;
  const auto reasons = BrokenRules(toys::Llama70B(), machine, training, plan);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].rule, "G0");
}

TEST(BrokenRules, DoesNotOverflow) {
  const int huge = 1 << 30;
  Plan plan;
  plan.sharding = {.tp = huge, .cp = huge, .ep = huge, .etp = huge, .micro_batch_size = huge};
  plan.placement = {.pp = huge, .vpp = huge, .dp = huge};
  plan.policy.zero_group = huge;
  for (const Framework& framework : Frameworks())
    EXPECT_GT(BrokenRules(toys::Llama70B(), toys::Hopper(2), toys::With(framework.id), plan).size(),
              2u)
        << framework.name;
}
}  // namespace
}  // namespace shardplan
