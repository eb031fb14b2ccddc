// SPDX-License-Identifier: Apache-2.0
#include "planner/search/hint.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "planner/plan/axes.h"

namespace shardplan {
namespace {

// Wishes that can be let go together, as cheap to change first. `axes` are named in the hint.
struct Wished {
  std::vector<std::string_view> axes;
  bool (*is_wished)(const Wishes& wishes);
  void (*let_go)(Wishes& wishes);
};

const std::array<Wished, 7>& WishedChoices() {
  static const std::array<Wished, 7> choices{{
      {{"recompute"},
       [](const Wishes& w) { return !w.recompute.empty(); },
       [](Wishes& w) { w.recompute.clear(); }},
      {{"zero_stage"},
       [](const Wishes& w) { return !w.zero_stage.empty() || !w.zero_group.empty(); },
       [](Wishes& w) { w.zero_stage.clear(), w.zero_group.clear(); }},
      {{"micro_batch_size"},
       [](const Wishes& w) { return !w.micro_batch_size.empty(); },
       [](Wishes& w) { w.micro_batch_size.clear(); }},
      {{"tp"},
       [](const Wishes& w) { return !w.tp.empty(); },
       [](Wishes& w) { w.tp.clear(), w.sp.clear(), w.etp.clear(), w.dp.clear(); }},
      {{"pp", "vpp"},
       [](const Wishes& w) { return !w.pp.empty() || !w.vpp.empty(); },
       [](Wishes& w) {
         w.pp.clear(), w.vpp.clear(), w.schedule.clear(), w.stage_layers.clear(), w.dp.clear();
       }},
      {{"ep", "cp"},
       [](const Wishes& w) { return !w.ep.empty() || !w.cp.empty(); },
       [](Wishes& w) {
         w.ep.clear(), w.etp.clear(), w.cp.clear(), w.cp_kind.clear(), w.dp.clear();
       }},
      {{"offload"},
       [](const Wishes& w) { return !w.offload.empty() || !w.offload_to.empty(); },
       [](Wishes& w) { w.offload.clear(), w.offload_to.clear(); }},
  }};
  return choices;
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

// "recompute: full" for each of the axes; those at a plain plan's value are left out unless named.
std::vector<std::string> Changes(const Plan& plan, const std::vector<std::string_view>& axes,
                                 bool also_customary) {
  std::vector<std::string> changes;
  for (const std::string_view key : axes) {
    const Axis& axis = *FindAxis(key);
    if (!also_customary && axis.json(plan) == axis.json(Plan{})) continue;
    changes.push_back(std::string(key) + ": " + axis.Text(plan));
  }
  return changes;
}
}  // namespace

std::vector<Hint> HintsFor(const Job& job, const Wishes& wishes, const SearchOptions& options,
                           std::size_t most) {
  std::vector<Hint> hints;
  std::vector<std::string_view> wished;
  for (const Wished& choice : WishedChoices()) {
    if (!choice.is_wished(wishes)) continue;
    wished.insert(wished.end(), choice.axes.begin(), choice.axes.end());
    Wishes relaxed = wishes;
    choice.let_go(relaxed);
    for (Ranked& best : Best(job, relaxed, options))
      hints.push_back(
          {Changes(best.evaluation.plan, choice.axes, true), std::move(best.evaluation)});
  }
  if (hints.empty() && !wished.empty()) {
    for (Ranked& best : Best(job, WithoutChoices(wishes), options))
      hints.push_back({Changes(best.evaluation.plan, wished, false), std::move(best.evaluation)});
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
      std::vector<std::string> changes = Changes(best.evaluation.plan, wished, false);
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
  if (plan.policy.zero_group > 0) wishes.zero_group = {plan.policy.zero_group};
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
