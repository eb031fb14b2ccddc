// SPDX-License-Identifier: Apache-2.0
#include "planner/search/hint.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "planner/plan/axes.h"

namespace shardplan {
namespace {

// An axis that a spec can fix.
struct WishedAxis {
  std::string_view key;
  bool (*is_wished)(const Wishes& wishes);
  bool (*allows)(const Wishes& wishes, const Plan& plan);
  void (*let_go)(Wishes& wishes);
};

template <auto Member, auto Group, auto Value>
constexpr WishedAxis Row(std::string_view key) {
  return {key, [](const Wishes& wishes) { return !(wishes.*Member).empty(); },
          [](const Wishes& wishes, const Plan& plan) {
            const auto& wish = wishes.*Member;
            return wish.empty() ||
                   std::find(wish.begin(), wish.end(), plan.*Group.*Value) != wish.end();
          },
          [](Wishes& wishes) { (wishes.*Member).clear(); }};
}

constexpr auto kSharding = &Plan::sharding;
constexpr auto kPlacement = &Plan::placement;
constexpr auto kPolicy = &Plan::policy;
constexpr std::array kWishedAxes{
    Row<&Wishes::recompute, kSharding, &Sharding::recompute>("recompute"),
    Row<&Wishes::zero_stage, kPolicy, &Policy::zero_stage>("zero_stage"),
    Row<&Wishes::zero_group, kPolicy, &Policy::zero_group>("zero_group"),
    Row<&Wishes::micro_batch_size, kSharding, &Sharding::micro_batch_size>("micro_batch_size"),
    Row<&Wishes::offload, kPolicy, &Policy::offload>("offload"),
    Row<&Wishes::offload_to, kPolicy, &Policy::offload_to>("offload_to"),
    Row<&Wishes::tp, kSharding, &Sharding::tp>("tp"),
    Row<&Wishes::sp, kSharding, &Sharding::sp>("sp"),
    Row<&Wishes::pp, kPlacement, &Placement::pp>("pp"),
    Row<&Wishes::vpp, kPlacement, &Placement::vpp>("vpp"),
    Row<&Wishes::schedule, kPlacement, &Placement::schedule>("schedule"),
    Row<&Wishes::stage_layers, kPlacement, &Placement::stage_layers>("stage_layers"),
    Row<&Wishes::cp, kSharding, &Sharding::cp>("cp"),
    Row<&Wishes::cp_kind, kSharding, &Sharding::cp_kind>("cp_kind"),
    Row<&Wishes::ep, kSharding, &Sharding::ep>("ep"),
    Row<&Wishes::etp, kSharding, &Sharding::etp>("etp"),
    Row<&Wishes::dp, kPlacement, &Placement::dp>("dp"),
};

// What is let go together: choices that mean little without each other. Cheap to change first.
const std::array<std::vector<std::string_view>, 7> kTogether{{
    {"recompute"},
    {"zero_stage", "zero_group"},
    {"micro_batch_size"},
    {"tp", "sp", "etp", "dp"},
    {"pp", "vpp", "schedule", "stage_layers", "dp"},
    {"ep", "etp", "cp", "cp_kind", "dp"},
    {"offload", "offload_to"},
}};

const WishedAxis& RowOf(std::string_view key) {
  return *std::find_if(kWishedAxes.begin(), kWishedAxes.end(),
                       [&](const WishedAxis& row) { return row.key == key; });
}

// What the overlaps were stays as it was: it changes time, not memory.
Wishes WithoutChoices(const Wishes& wishes) {
  Wishes free;
  free.overlap_grad_reduce = wishes.overlap_grad_reduce;
  free.overlap_param_gather = wishes.overlap_param_gather;
  free.overlap_tp = wishes.overlap_tp;
  free.overlap_p2p = wishes.overlap_p2p;
  free.overlap_moe = wishes.overlap_moe;
  return free;
}

std::vector<Ranked> Best(const Job& job, const Wishes& wishes, SearchOptions options) {
  options.keep = 1;
  const Space space(*job.model, *job.machine, *job.training, wishes);
  return Search(job, space, options).plans;
}

// "recompute: full" for each axis of the plan that is not as wished.
std::vector<std::string> ChangesOf(const Wishes& wishes, const Plan& plan) {
  std::vector<std::string> changes;
  for (const WishedAxis& row : kWishedAxes)
    if (!row.allows(wishes, plan))
      changes.push_back(std::string(row.key) + ": " + FindAxis(row.key)->Text(plan));
  return changes;
}
}  // namespace

std::vector<Hint> HintsFor(const Job& job, const Wishes& wishes, const SearchOptions& options,
                           std::size_t most) {
  std::vector<Hint> hints;
  bool any_wish = false;
  for (const std::vector<std::string_view>& keys : kTogether) {
    Wishes relaxed = wishes;
    bool is_wished = false;
    for (const std::string_view key : keys) {
      is_wished |= RowOf(key).is_wished(wishes);
      RowOf(key).let_go(relaxed);
    }
    if (!is_wished) continue;
    any_wish = true;
    for (Ranked& best : Best(job, relaxed, options))
      hints.push_back({ChangesOf(wishes, best.evaluation.plan), std::move(best.evaluation)});
  }
  if (hints.empty() && any_wish) {
    for (Ranked& best : Best(job, WithoutChoices(wishes), options))
      hints.push_back({ChangesOf(wishes, best.evaluation.plan), std::move(best.evaluation)});
  }
  std::stable_sort(hints.begin(), hints.end(), [](const Hint& a, const Hint& b) {
    return a.evaluation.step.Time() < b.evaluation.step.Time();
  });
  if (hints.size() > most) hints.resize(most);
  if (!hints.empty()) return hints;

  // More nodes of the same kind, as few as a power of two of what there is.
  Machine larger = *job.machine;
  for (int factor = 2; factor <= 64 && larger.nodes <= (1 << 20); factor *= 2) {
    larger.nodes *= 2;
    const Job job_there = MakeJob(*job.model, larger, *job.training, job.memory_reserve);
    for (Ranked& best : Best(job_there, WithoutChoices(wishes), options)) {
      std::vector<std::string> changes = ChangesOf(wishes, best.evaluation.plan);
      changes.insert(changes.begin(), "nodes: " + std::to_string(larger.nodes));
      return {{std::move(changes), std::move(best.evaluation)}};
    }
  }
  return {};
}

std::vector<Hint> HintsFor(const Job& job, const Plan& plan, const SearchOptions& options,
                           std::size_t most) {
  Wishes wishes;
  wishes.tp = {plan.sharding.tp};
  wishes.cp = {plan.sharding.cp};
  wishes.ep = {plan.sharding.ep};
  wishes.etp = {plan.sharding.etp};
  wishes.cp_kind = {plan.sharding.cp_kind};
  wishes.sp = {plan.sharding.sp};
  wishes.micro_batch_size = {plan.sharding.micro_batch_size};
  wishes.recompute = {plan.sharding.recompute};
  wishes.pp = {plan.placement.pp};
  wishes.vpp = {plan.placement.vpp};
  wishes.schedule = {plan.placement.schedule};
  if (!plan.placement.stage_layers.empty()) wishes.stage_layers = {plan.placement.stage_layers};
  wishes.zero_stage = {plan.policy.zero_stage};
  wishes.zero_group = {plan.policy.zero_group};
  wishes.offload = {plan.policy.offload};
  wishes.offload_to = {plan.policy.offload_to};
  const Overlap& overlap = plan.policy.overlap;
  wishes.overlap_grad_reduce = overlap.grad_reduce;
  wishes.overlap_param_gather = overlap.param_gather;
  wishes.overlap_tp = overlap.tp;
  wishes.overlap_p2p = overlap.p2p;
  wishes.overlap_moe = overlap.moe;
  return HintsFor(job, wishes, options, most);
}
}  // namespace shardplan
