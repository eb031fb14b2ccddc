// SPDX-License-Identifier: Apache-2.0
// What a job takes outside its steady step: where it loads, first steps, meets its longest sample,
// evaluates and saves. (planner/README.md, Eq. 30)
//
// Not what it allocates step by step: CostStage's instants are that. Private to planner/cost.
#pragma once
#include <vector>

#include "planner/cost/step_parts.h"

namespace shardplan {

// In the order of a run. `step`: what the plan's steady step takes. Adds each stage's own figures
// to `stages`, which are the loads of `stage` in order.
std::vector<Peak> PeaksOutside(const Job& job, const StageCost& stage, const Plan& plan,
                               const StepCost& step, std::vector<StageMemory>& stages);
}  // namespace shardplan
