// SPDX-License-Identifier: Apache-2.0
// What changes between two plans of a job, and what each change does to step time and memory.
//
// Changes are made one after another, in an order in which every plan on the way obeys the rules,
// where there is one: changes that only work together are one step. Each effect is that of its step
// in this order; another order would share the same total out differently.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/cost/cost.h"
#include "planner/framework/rules.h"
#include "planner/report/json.h"
#include "planner/report/text.h"

namespace shardplan {

// A setting of the user's framework: "--tensor-model-parallel-size", "8"; a flag's value is "".
struct FlagValue {
  std::string name, value;
};
using FlagsOf = std::function<std::vector<FlagValue>(const Evaluation& evaluation)>;
// The plan's own keys: "plan.tp", "8".
std::vector<FlagValue> KeysOfPlan(const Evaluation& evaluation);

struct FlagChange {
  char sign = '~';  // + added, - removed, ~ another value
  std::string name, before, after;
};
// In the order of `after`, then what was removed.
std::vector<FlagChange> ChangesBetween(const std::vector<FlagValue>& before,
                                       const std::vector<FlagValue>& after);

struct DiffStep {
  std::vector<std::string> axes;  // of the plan: "tp", "sp"; empty: of the rest of the spec
  std::vector<FlagChange> flags;
  std::vector<Reason> broken;            // rules that the plan after this step breaks
  std::optional<Evaluation> evaluation;  // of the plan after this step, where it breaks none
};

// One side: a plan and what it is for. REQUIRES: what is pointed to outlives the side.
struct DiffSide {
  std::string name;
  const Job* job = nullptr;
  Plan plan;
  std::vector<FlagValue> rest;  // the keys of the spec but the plan's, "train.precision"
};

struct PlanDiff {
  std::string before_name, after_name;
  DiffStep before;              // the plan of A under A's spec; no changes
  std::vector<DiffStep> steps;  // the last one is B
};
PlanDiff DiffPlans(const DiffSide& a, const DiffSide& b, const FlagsOf& flags);

std::string DiffReport(const PlanDiff& diff, const Look& look);
Json DiffJson(const PlanDiff& diff);
}  // namespace shardplan
