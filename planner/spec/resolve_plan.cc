// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "planner/spec/resolve.h"

namespace shardplan {
namespace {

static_assert(static_cast<int>(CpKind::kAllGather) == v1::CP_KIND_ALLGATHER - 1);
static_assert(static_cast<int>(Schedule::kDualPipe) == v1::SCHEDULE_DUALPIPE - 1);
static_assert(static_cast<int>(Offload::kActivations) == v1::OFFLOAD_ACTIVATIONS - 1);
static_assert(static_cast<int>(OffloadTo::kNvme) == v1::OFFLOAD_TO_NVME - 1);
static_assert(static_cast<int>(RecomputeKind::kFull) == v1::RECOMPUTE_KIND_FULL - 1);
static_assert(static_cast<int>(Objective::kGpus) == v1::OBJECTIVE_GPUS - 1);

// Candidates, each once, in the order given.
template <class T, class From, class Convert>
Wish<T> Candidates(const From& from, Convert convert) {
  Wish<T> wish;
  for (const auto& value : from) {
    T candidate = convert(value);
    if (std::find(wish.begin(), wish.end(), candidate) == wish.end())
      wish.push_back(std::move(candidate));
  }
  return wish;
}
Wish<int> Numbers(const google::protobuf::RepeatedField<std::int32_t>& from) {
  return Candidates<int>(from, [](std::int32_t v) { return v; });
}
template <class T>
Wish<T> Values(const google::protobuf::RepeatedField<int>& from) {
  return Candidates<T>(from, [](int v) { return static_cast<T>(v - 1); });
}

Module ModuleOf(v1::RecomputeModule module) {
  switch (module) {
    case v1::RECOMPUTE_MODULE_CORE_ATTN:
      return Module::kCoreAttention;
    case v1::RECOMPUTE_MODULE_MLP:
      return Module::kMlp;
    case v1::RECOMPUTE_MODULE_MOE:
      return Module::kMoe;
    case v1::RECOMPUTE_MODULE_LAYERNORM:
    case v1::RECOMPUTE_MODULE_NORM:
      return Module::kLayernorm;
    case v1::RECOMPUTE_MODULE_MOE_ACT:
    case v1::RECOMPUTE_MODULE_ACT:
      return Module::kActivation;
    case v1::RECOMPUTE_MODULE_MLA_UP_PROJ:
      return Module::kMlaUpProjection;
    case v1::RECOMPUTE_MODULE_SHARED_EXPERTS:
      return Module::kSharedExperts;
    default:
      return Module::kOther;
  }
}

Recompute RecomputeOf(const v1::Recompute& from) {
  Recompute recompute;
  if (from.has_kind()) recompute.kind = static_cast<RecomputeKind>(from.kind() - 1);
  if (from.modules_size() > 0) recompute.kind = RecomputeKind::kModules;
  if (from.layers_size() > 0) recompute.kind = RecomputeKind::kLayers;
  for (const int module : from.modules())
    recompute.modules |= 1u << static_cast<int>(ModuleOf(static_cast<v1::RecomputeModule>(module)));
  recompute.layers.assign(from.layers().begin(), from.layers().end());
  return recompute;
}

Result<void> CheckRecompute(const SpecText& text) {
  const v1::Plan& plan = text.spec.plan();
  for (int i = 0; i < plan.recompute_size(); ++i) {
    const v1::Recompute& one = plan.recompute(i);
    const int forms = one.has_kind() + (one.modules_size() > 0) + (one.layers_size() > 0);
    if (forms == 1) continue;
    const std::string item = fmt::format("plan.recompute[{}]", i);
    return text.Fail(text.map.Find(item) ? item : "plan.recompute",
                     forms == 0 ? "says nothing" : "says more than one thing",
                     "expected none, selective, full, or a mapping of modules or of layers");
  }
  return {};
}

template <class T>
std::optional<T> Given(bool given, T value) {
  return given ? std::optional<T>(value) : std::nullopt;
}

}  // namespace

Result<Wishes> ResolvePlan(const SpecText& text) {
  if (Result<void> fine = CheckRecompute(text); !fine) return tl::unexpected(fine.error());
  const v1::Plan& plan = text.spec.plan();
  Wishes wishes;
  wishes.tp = Numbers(plan.tp());
  wishes.pp = Numbers(plan.pp());
  wishes.vpp = Numbers(plan.vpp());
  wishes.cp = Numbers(plan.cp());
  wishes.ep = Numbers(plan.ep());
  wishes.etp = Numbers(plan.etp());
  wishes.dp = Numbers(plan.dp());
  wishes.zero_stage = Numbers(plan.zero_stage());
  wishes.zero_group = Numbers(plan.zero_group());
  wishes.micro_batch_size = Numbers(plan.micro_batch_size());
  wishes.sp = Candidates<bool>(plan.sp(), [](bool v) { return v; });
  wishes.cp_kind = Values<CpKind>(plan.cp_kind());
  wishes.schedule = Values<Schedule>(plan.schedule());
  wishes.recompute = Candidates<Recompute>(plan.recompute(), RecomputeOf);
  wishes.offload = Values<Offload>(plan.offload());
  wishes.offload_to = Values<OffloadTo>(plan.offload_to());
  wishes.stage_layers =
      Candidates<std::vector<int>>(plan.stage_layers(), [](const v1::StageLayers& stages) {
        return std::vector<int>(stages.layers().begin(), stages.layers().end());
      });
  const v1::Overlap& overlap = plan.overlap();
  wishes.overlap_grad_reduce = Given(overlap.has_grad_reduce(), overlap.grad_reduce());
  wishes.overlap_param_gather = Given(overlap.has_param_gather(), overlap.param_gather());
  wishes.overlap_tp = Given(overlap.has_tp(), overlap.tp());
  wishes.overlap_p2p = Given(overlap.has_p2p(), overlap.p2p());
  wishes.overlap_moe = Given(overlap.has_moe(), overlap.moe());
  return wishes;
}

SearchOptions ResolveSearch(const SpecText& text) {
  const v1::Search& search = text.spec.search();
  SearchOptions options;
  if (search.has_objective()) options.objective = static_cast<Objective>(search.objective() - 1);
  if (search.has_keep()) options.keep = search.keep();
  return options;
}
}  // namespace shardplan
