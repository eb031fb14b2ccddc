// SPDX-License-Identifier: Apache-2.0
#include "planner/report/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace shardplan {
namespace {

constexpr std::array<std::string_view, 8> kAlways{
    "tp", "pp", "vpp", "cp", "dp", "zero_stage", "micro_batch_size", "recompute"};
// Follow from other axes: not worth a column.
constexpr std::array<std::string_view, 2> kDerived{"microbatches", "overlap"};

template <std::size_t N>
bool Contains(const std::array<std::string_view, N>& keys, const Axis& axis) {
  return std::find(keys.begin(), keys.end(), axis.key) != keys.end();
}

bool IsCustomary(const Axis& axis, const Plan& plan) {
  if (axis.key == "schedule")
    return plan.placement.schedule ==
           (plan.placement.vpp > 1 ? Schedule::kInterleaved : Schedule::k1F1B);
  return axis.json(plan) == axis.json(Plan{});
}
bool AreCustomary(const Axis& axis, const std::vector<const Plan*>& plans) {
  return std::all_of(plans.begin(), plans.end(),
                     [&](const Plan* plan) { return IsCustomary(axis, *plan); });
}

// A framework's default for sp follows tp; two plans with tp > 1 that differ in it were asked for.
bool SpVaries(const std::vector<const Plan*>& plans) {
  bool with = false, without = false;
  for (const Plan* plan : plans)
    if (plan->sharding.tp > 1) (plan->sharding.sp ? with : without) = true;
  return with && without;
}
}  // namespace

std::string PlanText(const Plan& plan) {
  std::string text;
  for (const Axis& axis : Axes()) {
    if (!Contains(kAlways, axis) && IsCustomary(axis, plan)) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", axis.key, axis.Text(plan));
  }
  return text;
}

std::vector<const Axis*> ColumnsOf(const std::vector<const Plan*>& plans) {
  std::vector<const Axis*> columns;
  for (const Axis& axis : Axes()) {
    if (Contains(kDerived, axis)) continue;
    const bool shown = Contains(kAlways, axis) ||
                       (axis.key == "sp" ? SpVaries(plans) : !AreCustomary(axis, plans));
    if (shown) columns.push_back(&axis);
  }
  return columns;
}
}  // namespace shardplan
