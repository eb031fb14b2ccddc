// SPDX-License-Identifier: Apache-2.0
// The axes of a plan: what each is called, how it prints and how it is read.
//
// One table, in the order in which a plan is shown. Keys and names are those of the spec; a new
// axis is a field in plan.h and a row here. Which values are searched is in space/space.h, which
// are legal in framework/rules.h.
#pragma once
#include <compare>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/base/result.h"
#include "planner/model/graph.h"
#include "planner/plan/plan.h"

namespace shardplan {

// The spec's word for a value.
std::string_view Name(CpKind kind);
std::string_view Name(Schedule schedule);
std::string_view Name(RecomputeKind kind);
std::string_view Name(Offload offload);
std::string_view Name(OffloadTo to);
std::string_view Name(Module module);  // what recompute modules call it (Megatron's names)

// The value of a word; nothing where no value is called so. Modules have aliases ("norm", "act").
// For CpKind, Schedule, Offload, OffloadTo and Module; also RecomputeKind's none, selective, full.
template <class Enum>
std::optional<Enum> FromName(std::string_view name);
// All words, in the order of the enum.
template <class Enum>
std::vector<std::string> NamesOf();

// The contract's forms: "selective", {"modules": [...]}, {"layers": N or one number a stage}.
nlohmann::ordered_json RecomputeJson(const Recompute& recompute);
std::optional<Recompute> RecomputeFromJson(const nlohmann::ordered_json& json);
std::string Text(const Recompute& recompute);  // "selective", "core_attn+mlp", "16 layers"

enum class AxisGroup : std::uint8_t { kSharding, kPlacement, kPolicy };

struct Axis {
  std::string_view key;     // in YAML and JSON
  std::string_view column;  // head of its column in tables
  AxisGroup group;
  std::string_view expected;  // what a value must be, for errors and help
  std::string_view what;      // one line of help
  // Null: left out of the plan's JSON.
  nlohmann::ordered_json (*json)(const Plan& plan);
  // False, and the plan as it was: no value of this axis.
  bool (*read)(const nlohmann::ordered_json& json, Plan& plan);
  std::string Text(const Plan& plan) const;  // short, for tables and keys
};

const std::vector<Axis>& Axes();
const Axis* FindAxis(std::string_view key);  // null: none such

nlohmann::ordered_json PlanJson(const Plan& plan);
// Keys left out keep a Plan's defaults. GUARANTEES: PlanFromJson(PlanJson(p)) == p.
Result<Plan> PlanFromJson(const nlohmann::ordered_json& json);

// All axes as "tp=8 pp=4 ...": equal for equal plans only.
std::string Key(const Plan& plan);
// A total order by the values of the axes, without making a key: smaller degrees come first.
std::strong_ordering Compare(const Plan& a, const Plan& b);
}  // namespace shardplan
