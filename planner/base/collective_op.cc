// SPDX-License-Identifier: Apache-2.0
#include "planner/base/collective_op.h"

#include <algorithm>
#include <array>

namespace shardplan {
namespace {
constexpr std::array<const char*, kCollectives> kNames{
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "send_recv"};
}  // namespace

const char* Name(Collective op) { return kNames[static_cast<std::size_t>(op)]; }

std::optional<Collective> CollectiveOf(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Collective>(found - kNames.begin());
}

std::vector<std::string> CollectiveNames() { return {kNames.begin(), kNames.end()}; }
}  // namespace shardplan
