// SPDX-License-Identifier: Apache-2.0
#include "planner/plan/axes.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "planner/base/check.h"

namespace shardplan {
namespace {
using Json = nlohmann::ordered_json;

template <class Enum>
struct Word {
  Enum value;
  std::string_view name;
};

// The first name of a value is the one that is printed; later ones are read too.
constexpr std::array kCpKinds = {Word<CpKind>{CpKind::kRing, "ring"},
                                 Word<CpKind>{CpKind::kUlysses, "ulysses"},
                                 Word<CpKind>{CpKind::kAllGather, "allgather"}};
constexpr std::array kSchedules = {Word<Schedule>{Schedule::kGpipe, "gpipe"},
                                   Word<Schedule>{Schedule::k1F1B, "1f1b"},
                                   Word<Schedule>{Schedule::kInterleaved, "interleaved"},
                                   Word<Schedule>{Schedule::kZbH1, "zb-h1"},
                                   Word<Schedule>{Schedule::kZbV, "zb-v"},
                                   Word<Schedule>{Schedule::kDualPipe, "dualpipe"}};
constexpr std::array kRecomputeKinds = {Word<RecomputeKind>{RecomputeKind::kNone, "none"},
                                        Word<RecomputeKind>{RecomputeKind::kSelective, "selective"},
                                        Word<RecomputeKind>{RecomputeKind::kFull, "full"},
                                        Word<RecomputeKind>{RecomputeKind::kModules, "modules"},
                                        Word<RecomputeKind>{RecomputeKind::kLayers, "layers"}};
constexpr std::array kOffloads = {Word<Offload>{Offload::kNone, "none"},
                                  Word<Offload>{Offload::kOptimizer, "optimizer"},
                                  Word<Offload>{Offload::kOptimizerAndParams, "optimizer+params"},
                                  Word<Offload>{Offload::kActivations, "activations"}};
constexpr std::array kOffloadTos = {Word<OffloadTo>{OffloadTo::kCpu, "cpu"},
                                    Word<OffloadTo>{OffloadTo::kNvme, "nvme"}};
constexpr std::array kModules = {
    Word<Module>{Module::kCoreAttention, "core_attn"}, Word<Module>{Module::kMlp, "mlp"},
    Word<Module>{Module::kMoe, "moe"}, Word<Module>{Module::kLayernorm, "layernorm"},
    Word<Module>{Module::kActivation, "moe_act"},
    Word<Module>{Module::kMlaUpProjection, "mla_up_proj"},
    Word<Module>{Module::kSharedExperts, "shared_experts"},
    // As people write them.
    Word<Module>{Module::kLayernorm, "norm"}, Word<Module>{Module::kActivation, "act"},
    Word<Module>{Module::kActivation, "activation"},
    Word<Module>{Module::kCoreAttention, "core_attention"}};

constexpr const auto& WordsOf(CpKind) { return kCpKinds; }
constexpr const auto& WordsOf(Schedule) { return kSchedules; }
constexpr const auto& WordsOf(RecomputeKind) { return kRecomputeKinds; }
constexpr const auto& WordsOf(Offload) { return kOffloads; }
constexpr const auto& WordsOf(OffloadTo) { return kOffloadTos; }
constexpr const auto& WordsOf(Module) { return kModules; }

template <class Enum>
std::string_view NameOf(Enum value) {
  for (const auto& word : WordsOf(value))
    if (word.value == value) return word.name;
  return "other";
}

std::uint32_t Bit(Module module) { return 1u << static_cast<unsigned>(module); }

std::vector<std::string_view> ModuleNames(std::uint32_t modules) {
  std::vector<std::string_view> names;
  for (unsigned i = 0; i < static_cast<unsigned>(Module::kOther); ++i)
    if (modules & (1u << i)) names.push_back(Name(static_cast<Module>(i)));
  return names;
}

template <class Items>
std::string Join(const Items& items, std::string_view between) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += between;
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(item)>>)
      text += std::to_string(item);
    else
      text += item;
  }
  return text;
}

bool ReadInt(const Json& json, int least, int& value) {
  if (!json.is_number_integer()) return false;
  const auto number = json.get<std::int64_t>();
  if (number < least || number > std::numeric_limits<int>::max()) return false;
  value = static_cast<int>(number);
  return true;
}

bool ReadInts(const Json& json, std::vector<int>& values) {
  if (!json.is_array() || json.empty()) return false;
  std::vector<int> read;
  for (const Json& item : json)
    if (!ReadInt(item, 0, read.emplace_back())) return false;
  values = std::move(read);
  return true;
}

// Rows of the table: `Group` is a member of Plan, `Member` one of the group.
template <auto Group, auto Member>
Json IntJson(const Plan& plan) {
  return plan.*Group.*Member;
}
template <auto Group, auto Member, int kLeast>
bool IntRead(const Json& json, Plan& plan) {
  return ReadInt(json, kLeast, plan.*Group.*Member);
}
template <auto Group, auto Member>
Json EnumJson(const Plan& plan) {
  return Name(plan.*Group.*Member);
}
template <auto Group, auto Member>
bool EnumRead(const Json& json, Plan& plan) {
  if (!json.is_string()) return false;
  auto& field = plan.*Group.*Member;
  const auto value = FromName<std::decay_t<decltype(field)>>(json.get_ref<const std::string&>());
  if (value) field = *value;
  return value.has_value();
}

template <auto Group, auto Member, int kLeast = 1>
constexpr Axis IntAxis(std::string_view key, std::string_view column, AxisGroup group,
                       std::string_view what) {
  return {key,
          column,
          group,
          kLeast == 0 ? "an integer >= 0" : "an integer >= 1",
          what,
          IntJson<Group, Member>,
          IntRead<Group, Member, kLeast>};
}

template <auto Group, auto Member>
constexpr Axis EnumAxis(std::string_view key, std::string_view column, AxisGroup group,
                        std::string_view expected, std::string_view what) {
  return {key, column, group, expected, what, EnumJson<Group, Member>, EnumRead<Group, Member>};
}

Json SpJson(const Plan& plan) { return plan.sharding.sp; }
bool SpRead(const Json& json, Plan& plan) {
  if (!json.is_boolean()) return false;
  plan.sharding.sp = json.get<bool>();
  return true;
}

Json StageLayersJson(const Plan& plan) {
  const std::vector<int>& layers = plan.placement.stage_layers;
  return layers.empty() ? Json() : Json(layers);
}
bool StageLayersRead(const Json& json, Plan& plan) {
  return ReadInts(json, plan.placement.stage_layers);
}

Json RecomputeAxisJson(const Plan& plan) { return RecomputeJson(plan.sharding.recompute); }
bool RecomputeRead(const Json& json, Plan& plan) {
  std::optional<Recompute> recompute = RecomputeFromJson(json);
  if (!recompute) return false;
  plan.sharding.recompute = *std::move(recompute);
  return true;
}

// Where to is said only where it is not the customary place.
Json OffloadToJson(const Plan& plan) {
  return plan.policy.offload_to == OffloadTo::kCpu ? Json() : Json(Name(plan.policy.offload_to));
}

constexpr std::array<std::pair<const char*, bool Overlap::*>, 5> kOverlaps = {
    {{"grad_reduce", &Overlap::grad_reduce},
     {"param_gather", &Overlap::param_gather},
     {"tp", &Overlap::tp},
     {"p2p", &Overlap::p2p},
     {"moe", &Overlap::moe}}};

Json OverlapJson(const Plan& plan) {
  Json json = Json::object();
  for (const auto& [name, member] : kOverlaps) json[name] = plan.policy.overlap.*member;
  return json;
}
bool OverlapRead(const Json& json, Plan& plan) {
  if (!json.is_object()) return false;
  Overlap overlap = plan.policy.overlap;
  for (const auto& [key, value] : json.items()) {
    const auto found = std::find_if(kOverlaps.begin(), kOverlaps.end(),
                                    [&key = key](const auto& o) { return key == o.first; });
    if (found == kOverlaps.end() || !value.is_boolean()) return false;
    overlap.*(found->second) = value.get<bool>();
  }
  plan.policy.overlap = overlap;
  return true;
}

std::string ShortText(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_boolean()) return json.get<bool>() ? "yes" : "no";
  if (json.is_array()) return Join(json.get<std::vector<int>>(), ",");
  if (!json.is_object()) return json.is_null() ? "-" : json.dump();
  std::vector<std::string> on;
  for (const auto& [key, value] : json.items())
    if (value.get<bool>()) on.push_back(key);
  return on.empty() ? "none" : Join(on, "+");
}

auto Values(const Plan& plan) {
  const auto& [s, p, q] = plan;
  const Overlap& o = q.overlap;
  return std::tie(s.tp, p.pp, p.vpp, s.cp, s.cp_kind, s.ep, s.etp, p.dp, s.sp, q.zero_stage,
                  q.zero_group, s.micro_batch_size, p.microbatches, p.schedule, p.stage_layers,
                  s.recompute.kind, s.recompute.modules, s.recompute.layers, q.offload,
                  q.offload_to, o.grad_reduce, o.param_gather, o.tp, o.p2p, o.moe);
}
}  // namespace

std::string_view Name(CpKind kind) { return NameOf(kind); }
std::string_view Name(Schedule schedule) { return NameOf(schedule); }
std::string_view Name(RecomputeKind kind) { return NameOf(kind); }
std::string_view Name(Offload offload) { return NameOf(offload); }
std::string_view Name(OffloadTo to) { return NameOf(to); }
std::string_view Name(Module module) { return NameOf(module); }

template <class Enum>
std::optional<Enum> FromName(std::string_view name) {
  for (const auto& word : WordsOf(Enum{}))
    if (word.name == name) return word.value;
  return std::nullopt;
}
template <class Enum>
std::vector<std::string> NamesOf() {
  std::vector<std::string> names;
  for (const auto& word : WordsOf(Enum{}))
    if (NameOf(word.value) == word.name) names.emplace_back(word.name);
  return names;
}
template std::optional<CpKind> FromName<CpKind>(std::string_view);
template std::optional<Schedule> FromName<Schedule>(std::string_view);
template std::optional<RecomputeKind> FromName<RecomputeKind>(std::string_view);
template std::optional<Offload> FromName<Offload>(std::string_view);
template std::optional<OffloadTo> FromName<OffloadTo>(std::string_view);
template std::optional<Module> FromName<Module>(std::string_view);
template std::vector<std::string> NamesOf<CpKind>();
template std::vector<std::string> NamesOf<Schedule>();
template std::vector<std::string> NamesOf<RecomputeKind>();
template std::vector<std::string> NamesOf<Offload>();
template std::vector<std::string> NamesOf<OffloadTo>();
template std::vector<std::string> NamesOf<Module>();

Json RecomputeJson(const Recompute& recompute) {
  switch (recompute.kind) {
    case RecomputeKind::kModules:
      return {{"modules", ModuleNames(recompute.modules)}};
    case RecomputeKind::kLayers:
      if (recompute.layers.size() == 1) return {{"layers", recompute.layers.front()}};
      return {{"layers", recompute.layers}};
    default:
      return Name(recompute.kind);
  }
}

std::optional<Recompute> RecomputeFromJson(const Json& json) {
  Recompute recompute;
  if (json.is_string()) {
    const auto kind = FromName<RecomputeKind>(json.get_ref<const std::string&>());
    if (!kind || *kind > RecomputeKind::kFull) return std::nullopt;
    recompute.kind = *kind;
    return recompute;
  }
  if (!json.is_object() || json.size() != 1) return std::nullopt;
  const std::string key = json.begin().key();
  const Json& value = json.begin().value();
  if (key == "layers") {
    recompute.kind = RecomputeKind::kLayers;
    int all = 0;
    if (ReadInt(value, 0, all)) {
      recompute.layers = {all};
      return recompute;
    }
    return ReadInts(value, recompute.layers) ? std::optional(recompute) : std::nullopt;
  }
  if (key != "modules" || !value.is_array() || value.empty()) return std::nullopt;
  recompute.kind = RecomputeKind::kModules;
  for (const Json& item : value) {
    if (!item.is_string()) return std::nullopt;
    const auto module = FromName<Module>(item.get_ref<const std::string&>());
    if (!module) return std::nullopt;
    recompute.modules |= Bit(*module);
  }
  return recompute;
}

std::string Text(const Recompute& recompute) {
  switch (recompute.kind) {
    case RecomputeKind::kModules:
      return Join(ModuleNames(recompute.modules), "+");
    case RecomputeKind::kLayers:
      return Join(recompute.layers, ",") + " layers";
    default:
      return std::string(Name(recompute.kind));
  }
}

std::string Axis::Text(const Plan& plan) const {
  if (json == RecomputeAxisJson) return shardplan::Text(plan.sharding.recompute);
  if (json == IntJson<&Plan::policy, &Policy::zero_group> && plan.policy.zero_group == 0)
    return "all";
  return ShortText(json(plan));
}

const std::vector<Axis>& Axes() {
  constexpr AxisGroup kSharding = AxisGroup::kSharding, kPlacement = AxisGroup::kPlacement,
                      kPolicy = AxisGroup::kPolicy;
  static const std::vector<Axis> axes = {
      IntAxis<&Plan::sharding, &Sharding::tp>("tp", "tp", kSharding, "tensor parallel ranks"),
      IntAxis<&Plan::placement, &Placement::pp>("pp", "pp", kPlacement, "pipeline stages"),
      IntAxis<&Plan::placement, &Placement::vpp>("vpp", "vp", kPlacement,
                                                 "virtual stages per pipeline rank"),
      IntAxis<&Plan::sharding, &Sharding::cp>("cp", "cp", kSharding, "context parallel ranks"),
      EnumAxis<&Plan::sharding, &Sharding::cp_kind>("cp_kind", "cp kind", kSharding,
                                                    "ring, ulysses or allgather",
                                                    "how attention crosses context ranks"),
      IntAxis<&Plan::sharding, &Sharding::ep>("ep", "ep", kSharding, "expert parallel ranks"),
      IntAxis<&Plan::sharding, &Sharding::etp>("etp", "etp", kSharding,
                                               "tensor parallel ranks of experts"),
      IntAxis<&Plan::placement, &Placement::dp>("dp", "dp", kPlacement,
                                                "data parallel ranks, without cp"),
      {"sp", "sp", kSharding, "true or false", "Megatron sequence parallelism", SpJson, SpRead},
      IntAxis<&Plan::policy, &Policy::zero_stage, 0>(
          "zero_stage", "zero", kPolicy,
          "what data parallel ranks share: 1 optimizer, 2 and "
          "gradients, 3 and parameters"),
      IntAxis<&Plan::policy, &Policy::zero_group, 0>("zero_group", "group", kPolicy,
                                                     "ranks that share one shard; 0: all"),
      IntAxis<&Plan::sharding, &Sharding::micro_batch_size>(
          "micro_batch_size", "mb", kSharding, "sequences per data parallel rank and pass"),
      IntAxis<&Plan::placement, &Placement::microbatches>("microbatches", "m", kPlacement,
                                                          "micro batches per step"),
      EnumAxis<&Plan::placement, &Placement::schedule>(
          "schedule", "schedule", kPlacement, "gpipe, 1f1b, interleaved, zb-h1, zb-v or dualpipe",
          "order of work in the pipeline"),
      {"stage_layers", "layers", kPlacement, "a list of integers >= 0", "layers of each stage",
       StageLayersJson, StageLayersRead},
      {"recompute", "recompute", kSharding,
       "none, selective, full, {modules: [...]} or {layers: N}", "what backward computes again",
       RecomputeAxisJson, RecomputeRead},
      EnumAxis<&Plan::policy, &Policy::offload>("offload", "offload", kPolicy,
                                                "none, optimizer, optimizer+params or activations",
                                                "what lives outside the GPU"),
      {"offload_to", "to", kPolicy, "cpu or nvme", "where it lives", OffloadToJson,
       EnumRead<&Plan::policy, &Policy::offload_to>},
      {"overlap", "overlap", kPolicy,
       "a mapping of grad_reduce, param_gather, tp, p2p, moe to "
       "true or false",
       "communication behind compute", OverlapJson, OverlapRead},
  };
  return axes;
}

const Axis* FindAxis(std::string_view key) {
  for (const Axis& axis : Axes())
    if (axis.key == key) return &axis;
  return nullptr;
}

Json PlanJson(const Plan& plan) {
  Json json = Json::object();
  for (const Axis& axis : Axes())
    if (Json value = axis.json(plan); !value.is_null()) json[std::string(axis.key)] = value;
  return json;
}

Result<Plan> PlanFromJson(const Json& json) {
  if (!json.is_object()) return Invalid("plan: expected a mapping");
  Plan plan;
  for (const auto& [key, value] : json.items()) {
    const Axis* axis = FindAxis(key);
    if (axis == nullptr) {
      std::vector<std::string_view> keys;
      for (const Axis& known : Axes()) keys.push_back(known.key);
      return Invalid("plan." + key + ": no such key; a plan has " + Join(keys, ", "));
    }
    if (!axis->read(value, plan))
      return Invalid("plan." + key + ": expected " + std::string(axis->expected) + ", found " +
                     value.dump());
  }
  return plan;
}

std::string Key(const Plan& plan) {
  std::string key;
  for (const Axis& axis : Axes()) {
    if (!key.empty()) key += ' ';
    key += axis.key;
    key += '=';
    key += axis.Text(plan);
  }
  return key;
}

std::strong_ordering Compare(const Plan& a, const Plan& b) { return Values(a) <=> Values(b); }
}  // namespace shardplan
