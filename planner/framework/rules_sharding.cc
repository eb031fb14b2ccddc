// SPDX-License-Identifier: Apache-2.0
// Rules on how a layer is cut, shared by several frameworks.
#include <fmt/format.h>

#include <algorithm>

#include "planner/framework/rules_table.h"

namespace shardplan {
namespace {

// G1: an axis that the framework does not have.
bool LacksShardingAxis(const Proposal& p) {
  const Sharding& s = p.sharding;
  const Framework& f = p.framework;
  return (s.tp > 1 && !f.tensor) || (s.cp > 1 && !f.context) || (s.ep > 1 && !f.expert) ||
         (s.sp && !f.sequence);
}
std::string LacksShardingAxisText(const Proposal& p) {
  const Sharding& s = p.sharding;
  const Framework& f = p.framework;
  const auto lacks = [&](std::string_view what, const std::string& asked,
                         bool (*has)(const Framework&)) {
    return fmt::format("{} has no {} ({}); these have: {}", f.name, what, asked,
                       FrameworksWith(has));
  };
  if (s.tp > 1 && !f.tensor)
    return lacks("tensor parallelism", fmt::format("tp {}", s.tp),
                 [](const Framework& x) { return x.tensor; });
  if (s.cp > 1 && !f.context)
    return lacks("context parallelism", fmt::format("cp {}", s.cp),
                 [](const Framework& x) { return x.context; });
  if (s.ep > 1 && !f.expert)
    return lacks("expert parallelism", fmt::format("ep {}", s.ep),
                 [](const Framework& x) { return x.expert; });
  return lacks("sequence parallelism", "sp true", [](const Framework& x) { return x.sequence; });
}

// Numbers that the GPU cannot multiply.
bool LacksNumber(const Proposal& p) {
  const Gpu& gpu = p.machine.gpu;
  switch (p.training.precision) {
    case Precision::kFp8:
      return gpu.fp8.value <= 0;
    case Precision::kMxfp8:
      return gpu.fp8.value <= 0 ||
             (gpu.architecture != Architecture::kBlackwell && gpu.fp4.value <= 0);
    case Precision::kNvfp4:
      return gpu.fp4.value <= 0;
    case Precision::kBf16Mixed:
    case Precision::kBf16True:
      return gpu.bf16.value <= 0;
    default:  // tf32 falls back to fp32
      return false;
  }
}
std::string LacksNumberText(const Proposal& p) {
  const Gpu& gpu = p.machine.gpu;
  const char* asked =
      p.training.precision == Precision::kBf16Mixed || p.training.precision == Precision::kBf16True
          ? "bf16 needs Ampere or newer"
      : p.training.precision == Precision::kFp8   ? "fp8 needs Ada, Hopper or newer"
      : p.training.precision == Precision::kMxfp8 ? "mxfp8 needs Blackwell or newer"
                                                  : "nvfp4 needs Blackwell or newer";
  std::string has;
  if (gpu.fp16.value > 0) has += " fp16-mixed";
  if (gpu.bf16.value > 0) has += " bf16-mixed";
  if (gpu.tf32.value > 0) has += " tf32";
  if (gpu.fp8.value > 0) has += " fp8";
  return fmt::format("{}; {} has:{} fp32", asked, gpu.name.empty() ? "this GPU" : gpu.name, has);
}

// Positions that a learned table does not have.
bool PassesTable(const Proposal& p) {
  return p.model.facts.position_rows > 0 && p.training.seq_length > p.model.facts.position_rows;
}
std::string PassesTableText(const Proposal& p) {
  return fmt::format(
      "seq_length {} is longer than the model's table of learned positions ({}); a seq_length up "
      "to "
      "that works, or model.max_position_embeddings: {}",
      p.training.seq_length, p.model.facts.position_rows, p.training.seq_length);
}

// The world: what the sharding alone says of it.
bool UncutWorld(const Proposal& p) {
  return p.machine.Gpus() % (Wide{p.sharding.tp} * p.sharding.cp) != 0;
}
std::string UncutWorldText(const Proposal& p) {
  const Sharding& s = p.sharding;
  const int gpus = p.machine.Gpus();
  if (s.cp == 1)
    return fmt::format("tp {} does not divide the {} GPUs; of 1..{} these work: {}", s.tp, gpus,
                       gpus, WorkingSharding(p, &Sharding::tp, gpus, UncutWorld));
  return fmt::format("tp {} x cp {} = {} does not divide the {} GPUs; with tp {} these cp work: {}",
                     s.tp, s.cp, Wide{s.tp} * s.cp, gpus, s.tp,
                     WorkingSharding(p, &Sharding::cp, gpus, UncutWorld));
}

// Heads and the MLP's width are cut evenly.
bool UncutHeads(const Proposal& p) {
  const int heads = p.model.facts.heads;
  return p.sharding.tp > 1 && (heads == 0 || heads % p.sharding.tp != 0);
}
std::string UncutHeadsText(const Proposal& p) {
  const int heads = p.model.facts.heads;
  if (heads == 0)
    return fmt::format("tp {} cuts attention heads, and {} has none; tp 1 works", p.sharding.tp,
                       p.model.name);
  return fmt::format("tp {} does not divide num_attention_heads ({}); of 1..{} these work: {}",
                     p.sharding.tp, heads, heads,
                     WorkingSharding(p, &Sharding::tp, heads, UncutHeads));
}

int KvHeads(const ModelFacts& facts) { return facts.kv_heads > 0 ? facts.kv_heads : facts.heads; }

// Outside Megatron key/value heads are not replicated.
bool UncutKvHeads(const Proposal& p) {
  return !p.model.facts.mla && p.model.facts.heads > 0 &&
         KvHeads(p.model.facts) % p.sharding.tp != 0 && !UncutHeads(p);
}
std::string UncutKvHeadsText(const Proposal& p) {
  const int heads = KvHeads(p.model.facts);
  return fmt::format(
      "tp {} does not divide num_key_value_heads ({}), and {} does not replicate them; of 1..{} "
      "these work: {}",
      p.sharding.tp, heads, p.framework.name, heads,
      Working(heads, p.sharding.tp, [&](int tp) { return heads % tp == 0; }));
}

bool UncutMlp(const Proposal& p) {
  const ModelFacts& facts = p.model.facts;
  return facts.experts == 0 && facts.intermediate_size % p.sharding.tp != 0;
}
std::string UncutMlpText(const Proposal& p) {
  const int width = p.model.facts.intermediate_size;
  return fmt::format("tp {} does not divide intermediate_size ({}); of 1..{} these work: {}",
                     p.sharding.tp, width, std::max(1, p.model.facts.heads),
                     WorkingSharding(p, &Sharding::tp, std::max(1, p.model.facts.heads), UncutMlp));
}

// Megatron's sequence parallelism.
bool IdleSequenceParallel(const Proposal& p) { return p.sharding.sp && p.sharding.tp == 1; }
std::string IdleSequenceParallelText(const Proposal&) {
  return "sp true cuts the sequence over tp ranks, and tp is 1; leave sp out, or set tp > 1";
}

bool UncutSequence(const Proposal& p) {
  const Sharding& s = p.sharding;
  return s.sp && s.tp > 1 && p.training.seq_length % (Wide{s.tp} * s.cp) != 0;
}
std::string UncutSequenceText(const Proposal& p) {
  const Sharding& s = p.sharding;
  return fmt::format(
      "sp true cuts seq_length {} over tp {} x cp {} = {} ranks, which do not divide it; with cp "
      "{} these tp work: {}",
      p.training.seq_length, s.tp, s.cp, Wide{s.tp} * s.cp, s.cp,
      WorkingSharding(p, &Sharding::tp, std::max(1, p.model.facts.heads), UncutSequence));
}

// Context parallelism.
bool UncutContext(const Proposal& p) {
  const int cp = p.sharding.cp;
  if (cp == 1) return false;
  // Ring attention gives each rank two chunks, one from each end, so that causal work is even.
  const bool ring =
      p.sharding.cp_kind != CpKind::kUlysses || p.training.framework == FrameworkId::kMegatron;
  return p.training.seq_length == 0 || p.training.seq_length % (ring ? Wide{2} * cp : cp) != 0;
}
std::string UncutContextText(const Proposal& p) {
  if (p.training.seq_length == 0)
    return fmt::format("cp {} cuts a sequence, and this model has none; cp 1 works", p.sharding.cp);
  return fmt::format(
      "cp {} does not cut seq_length {} into even chunks (two a rank for ring attention); of 1..{} "
      "these work: {}",
      p.sharding.cp, p.training.seq_length, p.machine.Gpus(),
      WorkingSharding(p, &Sharding::cp, p.machine.Gpus(), UncutContext));
}

bool LacksCpKind(const Proposal& p) {
  const Sharding& s = p.sharding;
  if (s.cp == 1 || !p.framework.context) return false;
  return s.cp_kind == CpKind::kUlysses ? !p.framework.ulysses : !p.framework.ring;
}
std::string LacksCpKindText(const Proposal& p) {
  return p.sharding.cp_kind == CpKind::kUlysses
             ? fmt::format("{} has no ulysses context parallelism; cp_kind ring works",
                           p.framework.name)
             : fmt::format("{}'s context parallelism is ulysses; cp_kind ulysses works",
                           p.framework.name);
}

bool UncutUlysses(const Proposal& p) {
  const Sharding& s = p.sharding;
  return s.cp > 1 && s.cp_kind == CpKind::kUlysses && p.framework.ulysses &&
         !UlyssesFits(p.model, p.framework, s.tp, s.cp);
}
std::string UncutUlyssesText(const Proposal& p) {
  const Sharding& s = p.sharding;
  const ModelFacts& facts = p.model.facts;
  return fmt::format(
      "cp {} by ulysses does not divide the heads of a tp rank ({} and {} key/value over tp {}); "
      "these cp work: {}; cp_kind ring needs no such thing",
      s.cp, facts.heads, KvHeads(facts), s.tp,
      WorkingSharding(p, &Sharding::cp, std::max(1, facts.heads), UncutUlysses));
}

// Experts.
bool HasNoExperts(const Proposal& p) {
  return p.model.facts.experts == 0 && (p.sharding.ep > 1 || p.sharding.etp > 1);
}
std::string HasNoExpertsText(const Proposal& p) {
  return fmt::format(
      "{} {} needs a model with experts, and {} has none; {} 1 works",
      p.sharding.ep > 1 ? "ep" : "etp", p.sharding.ep > 1 ? p.sharding.ep : p.sharding.etp,
      p.model.name.empty() ? "this one" : p.model.name, p.sharding.ep > 1 ? "ep" : "etp");
}

bool UncutExperts(const Proposal& p) {
  return p.model.facts.experts > 0 && p.model.facts.experts % p.sharding.ep != 0;
}
std::string UncutExpertsText(const Proposal& p) {
  const int experts = p.model.facts.experts;
  return fmt::format("ep {} does not divide the {} experts; of 1..{} these work: {}", p.sharding.ep,
                     experts, experts, WorkingSharding(p, &Sharding::ep, experts, UncutExperts));
}

bool UncutExpertMlp(const Proposal& p) {
  const ModelFacts& facts = p.model.facts;
  const int width =
      facts.moe_intermediate_size > 0 ? facts.moe_intermediate_size : facts.intermediate_size;
  return facts.experts > 0 && width % p.sharding.etp != 0;
}
std::string UncutExpertMlpText(const Proposal& p) {
  const ModelFacts& facts = p.model.facts;
  return fmt::format(
      "etp {} does not divide an expert's width ({}); of 1..{} these work: {}", p.sharding.etp,
      facts.moe_intermediate_size > 0 ? facts.moe_intermediate_size : facts.intermediate_size,
      p.machine.gpus_per_node,
      WorkingSharding(p, &Sharding::etp, p.machine.gpus_per_node, UncutExpertMlp));
}

bool LacksExpertTensor(const Proposal& p) {
  return p.sharding.etp > 1 && p.model.facts.experts > 0 && !p.framework.expert_tensor;
}
std::string LacksExpertTensorText(const Proposal& p) {
  return fmt::format("{} does not cut experts over tensor ranks (etp {}); etp 1 works",
                     p.framework.name, p.sharding.etp);
}

bool UncutExpertWorld(const Proposal& p) {
  return p.machine.Gpus() % (Wide{p.sharding.ep} * p.sharding.etp) != 0;
}
std::string UncutExpertWorldText(const Proposal& p) {
  const Sharding& s = p.sharding;
  const int gpus = p.machine.Gpus();
  return fmt::format(
      "ep {} x etp {} = {} does not divide the {} GPUs; with etp {} these ep work: {}", s.ep, s.etp,
      Wide{s.ep} * s.etp, gpus, s.etp,
      WorkingSharding(p, &Sharding::ep, std::min(gpus, std::max(1, p.model.facts.experts)),
                      UncutExpertWorld));
}

// The batch: what the sharding alone says of it.
bool UncutBatch(const Proposal& p) {
  return p.training.global_batch_size % p.sharding.micro_batch_size != 0;
}
std::string UncutBatchText(const Proposal& p) {
  const auto batch = p.training.global_batch_size;
  const int limit = static_cast<int>(std::min<Wide>(batch, 4096));
  return fmt::format(
      "global_batch_size {} is not a multiple of micro_batch_size {}; of 1..{} these work: {}",
      batch, p.sharding.micro_batch_size, limit,
      WorkingSharding(p, &Sharding::micro_batch_size, limit, UncutBatch));
}

// Recomputation.
constexpr std::uint32_t Bit(Module module) { return 1u << static_cast<unsigned>(module); }

bool LacksModule(const Proposal& p) {
  const Recompute& r = p.sharding.recompute;
  if (r.kind != RecomputeKind::kModules) return false;
  const std::uint32_t moe = Bit(Module::kMoe) | Bit(Module::kSharedExperts);
  return ((r.modules & Bit(Module::kMlaUpProjection)) && !p.model.facts.mla) ||
         ((r.modules & moe) && p.model.facts.experts == 0);
}
std::string LacksModuleText(const Proposal& p) {
  if ((p.sharding.recompute.modules & Bit(Module::kMlaUpProjection)) && !p.model.facts.mla)
    return "recompute module mla_up_proj needs multi-latent attention; these work: core_attn, "
           "layernorm, mlp";
  return "recompute modules moe and shared_experts need a model with experts; these work: "
         "core_attn, layernorm, mlp";
}

bool TooManyLayers(const Proposal& p) {
  const Recompute& r = p.sharding.recompute;
  const int layers =
      p.model.layers.empty() ? p.model.facts.layers : static_cast<int>(p.model.layers.size());
  Wide sum = 0;
  for (const int stage : r.layers) sum += stage;
  return r.kind == RecomputeKind::kLayers && sum > layers;
}
std::string TooManyLayersText(const Proposal& p) {
  Wide sum = 0;
  for (const int stage : p.sharding.recompute.layers) sum += stage;
  return fmt::format("recompute of {} layers is more than the model has; at most {} work", sum,
                     p.model.layers.empty() ? Wide{p.model.facts.layers}
                                            : static_cast<Wide>(p.model.layers.size()));
}
}  // namespace

bool UlyssesFits(const Model& model, const Framework& framework, int tp, int cp) {
  const ModelFacts& facts = model.facts;
  if (!framework.ulysses || facts.heads == 0 || facts.heads % tp != 0) return false;
  if (facts.heads / tp % cp != 0) return false;
  // Transformer Engine exchanges key/value heads as they are; DeepSpeed replicates them.
  if (framework.id != FrameworkId::kMegatron || facts.mla) return true;
  return std::max(1, KvHeads(facts) / tp) % cp == 0;
}

void AddShardingRules(std::vector<Rule>& rules) {
  constexpr Binding kWhen = Binding::kSharding;
  AddShared(rules, {nullptr, nullptr, nullptr, "G1", "G1"}, kWhen, LacksShardingAxis,
            LacksShardingAxisText);
  AddShared(rules, {"M15", "T9", "G15", "G15", "G15"}, kWhen, LacksNumber, LacksNumberText);
  AddShared(rules, {"M18", "T10", "G17", "G17", "G17"}, kWhen, PassesTable, PassesTableText);
  AddShared(rules, {"M1", "T1", "G2", "A1", "G2"}, kWhen, UncutWorld, UncutWorldText);
  AddShared(rules, {"M2", "T2", "G3", "G3", "G3"}, kWhen, UncutHeads, UncutHeadsText);
  AddShared(rules, {nullptr, "T2", nullptr, "G3", "G3"}, kWhen, UncutKvHeads, UncutKvHeadsText);
  AddShared(rules, {"M2", "T2", "G3", "G3", "G3"}, kWhen, UncutMlp, UncutMlpText);
  AddShared(rules, {"M8", "G6", "G6", "G6", "G6"}, kWhen, IdleSequenceParallel,
            IdleSequenceParallelText);
  AddShared(rules, {"M8", "T4", "G6", "G6", "G6"}, kWhen, UncutSequence, UncutSequenceText);
  AddShared(rules, {"M9", "T4", "G5", "G5", "G5"}, kWhen, UncutContext, UncutContextText);
  AddShared(rules, {nullptr, "G5", "G5", nullptr, "G5"}, kWhen, LacksCpKind, LacksCpKindText);
  AddShared(rules, {"M9", nullptr, "G5", "G5", "G5"}, kWhen, UncutUlysses, UncutUlyssesText);
  AddShared(rules, {"M10", "T3", "D9", "G4", "G4"}, kWhen, HasNoExperts, HasNoExpertsText);
  AddShared(rules, {"M10", "T3", "D9", "G4", "G4"}, kWhen, UncutExperts, UncutExpertsText);
  AddShared(rules, {nullptr, nullptr, "D9", "G4", "G4"}, kWhen, LacksExpertTensor,
            LacksExpertTensorText);
  AddShared(rules, {"M10", "T3", "D9", "G4", "G4"}, kWhen, UncutExpertMlp, UncutExpertMlpText);
  AddShared(rules, {"M1", "T3", "D9", "G4", "G4"}, kWhen, UncutExpertWorld, UncutExpertWorldText);
  AddShared(rules, {"M7", "T4", "D1", "G7", "G7"}, kWhen, UncutBatch, UncutBatchText);
  AddShared(rules, {"M11", "G13", "G13", "G13", "G13"}, kWhen, LacksModule, LacksModuleText);
  AddShared(rules, {"M11", "G13", "G13", "G13", "G13"}, kWhen, TooManyLayers, TooManyLayersText);
}
}  // namespace shardplan
