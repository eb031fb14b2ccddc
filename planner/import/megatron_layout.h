// SPDX-License-Identifier: Apache-2.0
// How Megatron's arguments put layers on pipeline stages: virtual stages, uneven ends, layouts.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "planner/import/draft.h"

namespace shardplan {

// Sets vpp, schedule and stage_layers. REQUIRES: pp and the model's keys are set.
void ReadMegatronLayout(SettingList& arguments, Draft& draft);

// "Et|(tt|)*30mL": the transformer layers of each stage in order. Nothing where it is no
// layout.
std::optional<std::vector<int>> LayersOfLayout(std::string_view layout);
}  // namespace shardplan
