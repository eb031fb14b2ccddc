// SPDX-License-Identifier: Apache-2.0
// What a step takes at the very least, known before all choices are bound.
//
// `most` is all that any policy may overlap. But for rounding, no bound here is above
// CostStep(job, stage, policy).Time() for a policy that overlaps no more than that.
#pragma once
#include "planner/cost/cost.h"

namespace shardplan {

// Before CostStage: all layers' work spread evenly over the stages.
Seconds LeastTime(const LayersCost& layers, const Model& model, const Placement& placement,
                  const Overlap& most);

// After it: the length of the pipeline, when nothing but passes and transfers takes time.
Seconds LeastTime(const StageCost& stage, const Overlap& most);
}  // namespace shardplan
