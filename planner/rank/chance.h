// SPDX-License-Identifier: Apache-2.0
// The chance that a plan is the best of those kept.
//
// A model that errs errs alike on all plans: a GPU's matrix rate or a network's is wrong for each
// of them. So every part of a step carries one log-normal factor that all plans share (cost/
// uncertainty.h), and each plan a small one of its own; what all plans share whole (the
// framework's release) decides nothing. (planner/README.md, Eq. 26)
#pragma once
#include <vector>

#include "planner/search/search.h"

namespace shardplan {

// One chance for each plan, in their order; they add up to 1. The plan with the least expected time
// (or cost, where that is the objective) of a draw is its best. Repeatable: the draws are fixed.
std::vector<double> ChancesOfBest(const std::vector<Ranked>& plans, const Machine& machine,
                                  Objective objective);
}  // namespace shardplan
