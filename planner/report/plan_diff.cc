// SPDX-License-Identifier: Apache-2.0
#include "planner/report/plan_diff.h"

#include <algorithm>
#include <utility>

#include "planner/plan/axes.h"
#include "planner/space/space.h"

namespace shardplan {
namespace {

// A choice that changes as a whole: axes that mean nothing without each other.
struct Choice {
  std::vector<std::string> axes;
  void (*take)(const Plan& from, Plan& to);
};

const std::vector<Choice>& Choices() {
  static const std::vector<Choice> choices = {
      {{"recompute"}, [](const Plan& b, Plan& p) { p.sharding.recompute = b.sharding.recompute; }},
      {{"offload", "offload_to"},
       [](const Plan& b, Plan& p) {
         p.policy.offload = b.policy.offload;
         p.policy.offload_to = b.policy.offload_to;
       }},
      {{"zero_stage"}, [](const Plan& b, Plan& p) { p.policy.zero_stage = b.policy.zero_stage; }},
      {{"zero_group"}, [](const Plan& b, Plan& p) { p.policy.zero_group = b.policy.zero_group; }},
      {{"tp"}, [](const Plan& b, Plan& p) { p.sharding.tp = b.sharding.tp; }},
      {{"sp"}, [](const Plan& b, Plan& p) { p.sharding.sp = b.sharding.sp; }},
      {{"pp"}, [](const Plan& b, Plan& p) { p.placement.pp = b.placement.pp; }},
      {{"vpp", "schedule", "stage_layers"},
       [](const Plan& b, Plan& p) {
         p.placement.vpp = b.placement.vpp;
         p.placement.schedule = b.placement.schedule;
         p.placement.stage_layers = b.placement.stage_layers;
       }},
      {{"cp", "cp_kind"},
       [](const Plan& b, Plan& p) {
         p.sharding.cp = b.sharding.cp;
         p.sharding.cp_kind = b.sharding.cp_kind;
       }},
      {{"ep"}, [](const Plan& b, Plan& p) { p.sharding.ep = b.sharding.ep; }},
      {{"etp"}, [](const Plan& b, Plan& p) { p.sharding.etp = b.sharding.etp; }},
      {{"micro_batch_size"},
       [](const Plan& b, Plan& p) { p.sharding.micro_batch_size = b.sharding.micro_batch_size; }},
      {{"overlap"}, [](const Plan& b, Plan& p) { p.policy.overlap = b.policy.overlap; }},
  };
  return choices;
}

bool Differs(const Choice& choice, const Plan& a, const Plan& b) {
  Plan changed = a;
  choice.take(b, changed);
  return !(changed == a);
}

// dp, micro batches and what can overlap follow from the rest.
Plan Completed(const Job& job, Plan plan) {
  const Sharding& s = plan.sharding;
  Placement& p = plan.placement;
  p.dp = std::max(1, job.machine->Gpus() / std::max(1, s.tp * s.cp * p.pp));
  const std::int64_t pass = std::int64_t{1} * p.dp * s.micro_batch_size;
  p.microbatches = static_cast<int>(
      std::clamp<std::int64_t>(job.training->global_batch_size / pass, 1, 1 << 30));
  plan.policy.overlap = OverlapOf(plan.policy.overlap, s, p, plan.policy.zero_stage);
  return plan;
}

DiffStep Judged(const Job& job, const Plan& plan) {
  DiffStep step;
  step.broken = BrokenRules(*job.model, *job.machine, *job.training, plan);
  if (step.broken.empty()) step.evaluation = Evaluate(job, plan);
  return step;
}

class Walk {
 public:
  Walk(const DiffSide& a, const DiffSide& b, const FlagsOf& flags)
      : job_(*b.job), goal_(b.plan), now_(a.plan), flags_(flags) {
    for (const Choice& choice : Choices())
      if (Differs(choice, a.plan, b.plan)) open_.push_back(&choice);
  }

  std::vector<DiffStep> Steps(const DiffStep& before) {
    std::vector<DiffStep> steps;
    const Evaluation* last = before.evaluation ? &*before.evaluation : nullptr;
    while (!open_.empty()) {
      const std::vector<const Choice*> taken = Next();
      DiffStep step = Judged(job_, now_);
      for (const Choice* choice : taken)
        step.axes.insert(step.axes.end(), choice->axes.begin(), choice->axes.end());
      if (step.evaluation)
        step.flags = ChangesBetween(last ? flags_(*last) : std::vector<FlagValue>{},
                                    flags_(*step.evaluation));
      steps.push_back(std::move(step));
      if (steps.back().evaluation) {
        kept_ = *steps.back().evaluation;
        last = &kept_;
      }
    }
    return steps;
  }

 private:
  Plan After(const std::vector<const Choice*>& choices) const {
    if (choices.size() == open_.size()) return goal_;
    Plan plan = now_;
    for (const Choice* choice : choices) choice->take(goal_, plan);
    return Completed(job_, plan);
  }
  bool Legal(const Plan& plan) const {
    return BrokenRules(*job_.model, *job_.machine, *job_.training, plan).empty();
  }
  // The fewest open choices that lead to a legal plan, made; all of them where none do.
  std::vector<const Choice*> Next() {
    const std::size_t count = open_.size();
    for (std::size_t i = 0; i < count; ++i)
      if (Try({open_[i]})) return taken_;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = i + 1; j < count; ++j)
        if (Try({open_[i], open_[j]})) return taken_;
    now_ = goal_;
    return std::exchange(open_, {});
  }
  bool Try(const std::vector<const Choice*>& choices) {
    const Plan plan = After(choices);
    if (!Legal(plan)) return false;
    now_ = plan;
    taken_ = choices;
    for (const Choice* choice : choices) open_.erase(std::find(open_.begin(), open_.end(), choice));
    return true;
  }

  const Job& job_;
  const Plan goal_;
  Plan now_;
  const FlagsOf& flags_;
  std::vector<const Choice*> open_, taken_;
  Evaluation kept_;
};
}  // namespace

std::vector<FlagValue> KeysOfPlan(const Evaluation& evaluation) {
  const nlohmann::ordered_json plan = PlanJson(evaluation.plan);
  std::vector<FlagValue> keys;
  const auto add = [&](const std::string& name, const nlohmann::ordered_json& value) {
    keys.push_back({name, value.is_string() ? value.get<std::string>() : value.dump()});
  };
  for (const auto& [key, value] : plan.items()) {
    if (key == "microbatches") continue;  // follows from the rest
    if (key != "overlap") {
      add("plan." + key, value);
      continue;
    }
    for (const auto& [what, hidden] : value.items()) add("plan.overlap." + what, hidden);
  }
  return keys;
}

std::vector<FlagChange> ChangesBetween(const std::vector<FlagValue>& before,
                                       const std::vector<FlagValue>& after) {
  const auto find = [](const std::vector<FlagValue>& flags, const std::string& name) {
    return std::find_if(flags.begin(), flags.end(),
                        [&](const FlagValue& flag) { return flag.name == name; });
  };
  std::vector<FlagChange> changes;
  for (const FlagValue& flag : after) {
    const auto old = find(before, flag.name);
    if (old == before.end())
      changes.push_back({'+', flag.name, "", flag.value});
    else if (old->value != flag.value)
      changes.push_back({'~', flag.name, old->value, flag.value});
  }
  for (const FlagValue& flag : before)
    if (find(after, flag.name) == after.end()) changes.push_back({'-', flag.name, flag.value, ""});
  return changes;
}

PlanDiff DiffPlans(const DiffSide& a, const DiffSide& b, const FlagsOf& flags) {
  PlanDiff diff{a.name, b.name, Judged(*a.job, a.plan), {}};
  DiffSide from = a;
  const std::vector<FlagChange> rest = ChangesBetween(a.rest, b.rest);
  DiffStep last = diff.before;
  if (!rest.empty()) {
    from.plan = Completed(*b.job, a.plan);
    DiffStep step = Judged(*b.job, from.plan);
    step.flags = rest;
    diff.steps.push_back(step);
    if (step.evaluation) last = std::move(step);
  }
  // What a framework says in the same words either way is no change to its user.
  for (DiffStep& step : Walk(from, b, flags).Steps(last))
    if (!step.evaluation || !step.flags.empty()) diff.steps.push_back(std::move(step));
  return diff;
}
}  // namespace shardplan
