// SPDX-License-Identifier: Apache-2.0
// What a step takes at the very least, known before any policy is chosen.
#pragma once
#include "planner/cost/cost.h"

namespace shardplan {

// The length of the pipeline, when nothing but passes and transfers takes time. `most`: all that
// any policy may overlap. GUARANTEES: but for rounding, never above CostStep(job, stage,
// policy).Time() for a policy that overlaps no more than `most`.
Seconds LeastTime(const StageCost& stage, const Overlap& most);
}  // namespace shardplan
