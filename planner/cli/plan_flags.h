// SPDX-License-Identifier: Apache-2.0
// A plan in the settings of the framework that runs it, for diff.
#pragma once
#include "planner/report/plan_diff.h"
#include "planner/spec/problem.h"

namespace shardplan {

// The framework's own flags or keys; the spec's where no target writes the framework's. `problem`
// outlives what is returned.
FlagsOf FlagsFor(const Problem& problem);
}  // namespace shardplan
