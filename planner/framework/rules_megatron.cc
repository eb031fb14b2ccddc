// SPDX-License-Identifier: Apache-2.0
// Rules that only Megatron-LM has (validate_args, TransformerConfig, schedules.py).
#include <fmt/format.h>

#include <algorithm>

#include "planner/framework/rules_table.h"
#include "planner/plan/axes.h"

namespace shardplan {
namespace {

// M2: key/value heads are replicated where there are fewer of them than tensor ranks.
bool UncutGroups(const Proposal& p) {
  const ModelFacts& facts = p.model.facts;
  const int groups = facts.kv_heads > 0 ? facts.kv_heads : facts.heads, tp = p.sharding.tp;
  return !facts.mla && groups > 0 && groups % tp != 0 && tp % groups != 0;
}
std::string UncutGroupsText(const Proposal& p) {
  const ModelFacts& facts = p.model.facts;
  return fmt::format(
      "num_key_value_heads ({}) is neither a multiple nor a divisor of tp {}; of 1..{} these work: "
      "{}",
      facts.kv_heads > 0 ? facts.kv_heads : facts.heads, p.sharding.tp, facts.heads,
      WorkingSharding(p, &Sharding::tp, facts.heads, UncutGroups));
}

// M6. The group of micro batches that a virtual stage takes at once is pp to all of them, so since
// 0.10 any number from pp on works; earlier releases fix it to pp.
bool Interleaves(const Proposal& p) {
  return p.placement.schedule == Schedule::kInterleaved && p.placement.pp > 1;
}
bool TooFewMicrobatches(const Proposal& p) {
  return Interleaves(p) && p.placement.microbatches < p.placement.pp;
}
std::string TooFewMicrobatchesText(const Proposal& p) {
  const int micro = p.sharding.micro_batch_size;
  const Wide least = Wide{micro} * p.placement.dp * p.placement.pp;
  return fmt::format(
      "schedule interleaved needs at least pp {} micro batches, and there are {}; lower "
      "micro_batch_size (now {}), or global_batch_size {} works",
      p.placement.pp, p.placement.microbatches, micro, least);
}
bool UnevenMicrobatches(const Proposal& p) {
  return Interleaves(p) && p.placement.microbatches % p.placement.pp != 0;
}
std::string UnevenMicrobatchesText(const Proposal& p) {
  return fmt::format(
      "before Megatron-Core 0.10 schedule interleaved needs a multiple of pp {} micro batches, and "
      "there are {}; vpp 1 works",
      p.placement.pp, p.placement.microbatches);
}

// M5: virtual stages over two ranks deadlock without overlapped transfers.
bool NeedsOverlappedTransfers(const Proposal& p) {
  return p.placement.vpp > 1 && p.placement.pp == 2 && !p.policy.overlap.p2p;
}
std::string NeedsOverlappedTransfersText(const Proposal&) {
  return "vpp > 1 with pp 2 needs overlap.p2p; set it true, or pp > 2, or vpp 1";
}

// M8.
bool ExpertsWithoutSequenceParallel(const Proposal& p) {
  return p.model.facts.experts > 0 && p.sharding.tp > 1 && !p.sharding.sp;
}
std::string ExpertsWithoutSequenceParallelText(const Proposal& p) {
  return fmt::format("experts under tp {} need sequence parallelism; set sp true, or tp 1",
                     p.sharding.tp);
}
bool OverlapsWithoutSequenceParallel(const Proposal& p) {
  return p.policy.overlap.tp && !p.sharding.sp;
}
std::string OverlapsWithoutSequenceParallelText(const Proposal&) {
  return "overlap.tp needs sequence parallelism; set sp true (tp > 1), or overlap.tp false";
}

// M10.
bool HasExpertBias(const Model& model) {
  for (const Block& block : model.blocks)
    for (const Op& op : block.ops)
      if (op.kind == OpKind::kGroupedGemm && op.vectors > 0) return true;
  return false;
}
bool CutsExpertBias(const Proposal& p) { return p.sharding.etp > 1 && HasExpertBias(p.model); }
std::string CutsExpertBiasText(const Proposal& p) {
  return fmt::format("experts with a bias cannot be cut over etp {}; etp 1 works", p.sharding.etp);
}
bool UnfoldedExperts(const Proposal& p) {
  return p.model.facts.experts > 0 && p.sharding.etp != p.sharding.tp;
}
std::string UnfoldedExpertsText(const Proposal& p) {
  return fmt::format(
      "before Megatron-Core 0.10 experts are cut as all else: etp is tp; etp {} works",
      p.sharding.tp);
}

// M11.
constexpr std::uint32_t Bit(Module module) { return 1u << static_cast<unsigned>(module); }
bool HasNoModules(const Proposal& p) {
  return p.sharding.recompute.kind == RecomputeKind::kModules &&
         p.sharding.recompute.modules != Bit(Module::kCoreAttention);
}
std::string HasNoModulesText(const Proposal&) {
  return "before Megatron-Core 0.13 only module core_attn can be recomputed; these work: "
         "selective, "
         "full, {modules: [core_attn]}";
}

// Delayed scaling keeps history of each tensor, which a second forward would count twice.
bool RecomputesDelayed(const Proposal& p) {
  const Recompute& r = p.sharding.recompute;
  return p.training.precision == Precision::kFp8 && p.training.fp8_recipe == Fp8Recipe::kDelayed &&
         r.kind == RecomputeKind::kModules &&
         (r.modules & (Bit(Module::kLayernorm) | Bit(Module::kActivation)));
}
std::string RecomputesDelayedText(const Proposal&) {
  return "modules layernorm and moe_act cannot be recomputed under fp8 recipe delayed; recipe "
         "current "
         "works, or leave them out";
}

// M12.
bool GathersWhole(const Proposal& p) {
  return p.policy.overlap.param_gather &&
         (p.policy.zero_stage == 0 || !p.policy.overlap.grad_reduce);
}
std::string GathersWholeText(const Proposal& p) {
  return p.policy.zero_stage == 0
             ? "overlap.param_gather needs sharded parameters or optimizer state, and zero_stage "
               "is "
               "0; these work: 1 2 3, or overlap.param_gather false"
             : "overlap.param_gather needs overlap.grad_reduce; set it true, or both false";
}

// M15: Transformer Engine's narrow products need whole blocks.
int BlockOf(Precision precision) {
  switch (precision) {
    case Precision::kFp8:
      return 16;
    case Precision::kMxfp8:
    case Precision::kNvfp4:
      return 32;
    default:
      return 1;
  }
}
// M13, M15: what optimizers can be sharded or offloaded so.
bool IsAdam(const Training& training) {
  return training.optimizer == Optimizer::kAdam || training.optimizer == Optimizer::kAdamW;
}
bool ShardsOtherOptimizer(const Proposal& p) {
  return p.policy.zero_stage >= 2 && !IsAdam(p.training) &&
         p.training.optimizer != Optimizer::kSgd && p.training.optimizer != Optimizer::kSgdMomentum;
}
std::string ShardsOtherOptimizerText(const Proposal& p) {
  return fmt::format(
      "zero_stage {} is Megatron-FSDP, which has the optimizers adam, adamw, sgd and sgd-momentum; "
      "zero_stage 0 and 1 work",
      p.policy.zero_stage);
}
bool GathersNarrowWhole(const Proposal& p) {
  return p.training.fp8_params && p.policy.zero_stage == 0;
}
std::string GathersNarrowWholeText(const Proposal&) {
  return "fp8.params needs sharded optimizer state, and zero_stage is 0; these work: 1 2 3";
}
// The CPU optimizer is the precision-aware one, which knows delayed scaling only.
bool OffloadsNarrow(const Proposal& p) {
  return p.policy.offload == Offload::kOptimizer && BlockOf(p.training.precision) > 1 &&
         !(p.training.precision == Precision::kFp8 && p.training.fp8_recipe == Fp8Recipe::kDelayed);
}
std::string OffloadsNarrowText(const Proposal&) {
  return "Megatron's CPU optimizer knows bf16, fp16 and fp8 recipe delayed only; offload none "
         "works";
}
bool OffloadsOtherOptimizer(const Proposal& p) {
  return p.policy.offload == Offload::kOptimizer && !IsAdam(p.training);
}
std::string OffloadsOtherOptimizerText(const Proposal&) {
  return "Megatron's CPU optimizer is Adam; optimizer adam or adamw works, or offload none";
}

// The first size that is no multiple of the block; null where all are.
const char* RaggedSize(const Proposal& p, Wide& size) {
  const ModelFacts& facts = p.model.facts;
  const int block = BlockOf(p.training.precision);
  const auto ragged = [&](Wide whole, int cut) {
    size = whole / cut;
    return whole > 0 && size % block != 0;
  };
  if (ragged(facts.hidden_size, 1)) return "hidden_size";
  if (facts.experts == 0 && ragged(facts.intermediate_size, p.sharding.tp))
    return "intermediate_size / tp";
  if (facts.experts > 0 && ragged(facts.moe_intermediate_size, p.sharding.etp))
    return "moe_intermediate_size / etp";
  if (!facts.mla && ragged(Wide{facts.heads} * facts.head_dim, p.sharding.tp))
    return "heads x head_dim / tp";
  return nullptr;
}
bool HasRaggedSize(const Proposal& p) {
  Wide size = 0;
  return BlockOf(p.training.precision) > 1 && RaggedSize(p, size) != nullptr;
}
std::string HasRaggedSizeText(const Proposal& p) {
  Wide size = 0;
  const char* name = RaggedSize(p, size);
  return fmt::format(
      "{} is {}, and narrow precision multiplies blocks of {}; these tp work: {}; bf16-mixed needs "
      "no such thing",
      name, size, BlockOf(p.training.precision),
      WorkingSharding(p, &Sharding::tp, std::max(1, p.model.facts.heads), HasRaggedSize));
}

// M16.
bool RecomputesAll(const Proposal& p) { return p.sharding.recompute.kind == RecomputeKind::kFull; }
bool OffloadsCheckpoints(const Proposal& p) {
  return p.policy.offload == Offload::kActivations && RecomputesAll(p);
}
std::string OffloadsCheckpointsText(const Proposal&) {
  return "under recompute full only the layers' inputs are kept, which Megatron does not offload; "
         "recompute none, selective or modules work";
}
bool OffloadsInPipeline(const Proposal& p) {
  return p.policy.offload == Offload::kActivations &&
         (p.placement.pp > 1 || p.sharding.recompute.kind != RecomputeKind::kNone);
}
std::string OffloadsInPipelineText(const Proposal&) {
  return "before Megatron-Core 0.16 activations are offloaded by whole layers, with pp 1 and "
         "recompute none only";
}

// M17: what keeps the all-to-all of experts from running behind another micro batch.
const char* NoExpertOverlap(const Proposal& p) {
  const Recompute& recompute = p.sharding.recompute;
  if (p.sharding.ep == 1) return "ep is 1; set ep > 1";
  if (p.training.moe_dispatcher == MoeDispatcher::kAllGather)
    return "the dispatcher is allgather; alltoall works";
  if (p.placement.pp > 1 && p.placement.vpp == 1) return "pp > 1 needs vpp > 1 for it";
  if (recompute.kind == RecomputeKind::kFull) return "recompute is full; none or selective works";
  if (recompute.kind == RecomputeKind::kModules && (recompute.modules & Bit(Module::kMoe)))
    return "module moe is recomputed; leave it out";
  if (p.model.facts.mtp_layers > 1) return "the model has more than one MTP layer";
  return nullptr;
}
bool CannotOverlapExperts(const Proposal& p) {
  return p.policy.overlap.moe && NoExpertOverlap(p) != nullptr;
}
std::string CannotOverlapExpertsText(const Proposal& p) {
  return fmt::format("overlap.moe cannot be: {}", NoExpertOverlap(p));
}
}  // namespace

void AddMegatronRules(std::vector<Rule>& rules) {
  constexpr Binding kSharding = Binding::kSharding, kPlacement = Binding::kPlacement,
                    kState = Binding::kState, kPolicy = Binding::kPolicy;
  const auto add = [&](const char* id, Binding binding, bool (*broken)(const Proposal&),
                       std::string (*text)(const Proposal&),
                       bool (*concerns)(const Proposal&) = nullptr) -> Rule& {
    rules.push_back({.id = id,
                     .frameworks = SetOf(FrameworkId::kMegatron),
                     .binding = binding,
                     .broken = broken,
                     .text = text,
                     .concerns = concerns});
    return rules.back();
  };
  add("M2", kSharding, UncutGroups, UncutGroupsText);
  add("M5", kPolicy, NeedsOverlappedTransfers, NeedsOverlappedTransfersText,
      NeedsOverlappedTransfers);
  add("M6", kPlacement, TooFewMicrobatches, TooFewMicrobatchesText).since = "0.10";
  add("M6", kPlacement, UnevenMicrobatches, UnevenMicrobatchesText).until = "0.10";
  add("M8", kSharding, ExpertsWithoutSequenceParallel, ExpertsWithoutSequenceParallelText);
  add("M8", kPolicy, OverlapsWithoutSequenceParallel, OverlapsWithoutSequenceParallelText,
      OverlapsWithoutSequenceParallel);
  add("M10", kSharding, CutsExpertBias, CutsExpertBiasText);
  add("M10", kSharding, UnfoldedExperts, UnfoldedExpertsText).until = "0.10";
  add("M11", kSharding, HasNoModules, HasNoModulesText).until = "0.13";
  add("M11", kSharding, RecomputesDelayed, RecomputesDelayedText);
  add("M12", kState, GathersWhole, GathersWholeText);
  add("M13", kState, ShardsOtherOptimizer, ShardsOtherOptimizerText);
  add("M15", kState, OffloadsOtherOptimizer, OffloadsOtherOptimizerText);
  add("M15", kState, OffloadsNarrow, OffloadsNarrowText);
  add("M15", kState, GathersNarrowWhole, GathersNarrowWholeText);
  add("M15", kSharding, HasRaggedSize, HasRaggedSizeText);
  add("M16", kPolicy, OffloadsCheckpoints, OffloadsCheckpointsText, RecomputesAll);
  add("M16", kPolicy, OffloadsInPipeline, OffloadsInPipelineText).until = "0.16";
  add("M17", kPolicy, CannotOverlapExperts, CannotOverlapExpertsText, CannotOverlapExperts);
}
}  // namespace shardplan
