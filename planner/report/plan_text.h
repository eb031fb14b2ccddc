// SPDX-License-Identifier: Apache-2.0
// Plans in words and as columns of a table, from the table of axes.
#pragma once
#include <string>
#include <vector>

#include "planner/plan/axes.h"

namespace shardplan {

// "tp 8, pp 4, dp 2, zero_stage 1, ...": the usual axes, and what is not customary.
std::string PlanText(const Plan& plan);

// The axes that tell these plans apart, or that a reader looks for anyway.
std::vector<const Axis*> ColumnsOf(const std::vector<const Plan*>& plans);
}  // namespace shardplan
