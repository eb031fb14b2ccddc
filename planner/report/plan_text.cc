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
// Follow from other axes, or from the framework: shown where they tell plans apart.
constexpr std::array<std::string_view, 3> kQuiet{"sp", "schedule", "overlap"};

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
    if (axis.key == "microbatches") continue;  // derived
    const auto customary = [&](const Plan* plan) { return IsCustomary(axis, *plan); };
    const auto as_first = [&](const Plan* plan) {
      return axis.json(*plan) == axis.json(*plans.front());
    };
    const bool implied =
        axis.key == "schedule" && std::all_of(plans.begin(), plans.end(), customary);
    const bool varies = !implied && !std::all_of(plans.begin(), plans.end(), as_first);
    const bool unusual =
        !Contains(kQuiet, axis) && !std::all_of(plans.begin(), plans.end(), customary);
    if (Contains(kAlways, axis) || varies || unusual) columns.push_back(&axis);
  }
  return columns;
}
}  // namespace shardplan
