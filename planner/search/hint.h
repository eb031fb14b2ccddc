// SPDX-License-Identifier: Apache-2.0
// What would fit, where what was asked for does not.
//
// A hint is a search with one wish let go: the smallest change to a spec that helps. Where none
// helps, all wishes are let go; where that does not help either, nodes are added.
#pragma once
#include <string>
#include <vector>

#include "planner/search/search.h"

namespace shardplan {

struct Hint {
  std::vector<std::string> changes;  // in the spec's words: "recompute: full", "nodes: 32"
  Evaluation evaluation;             // the best plan that fits after them
};

// At most `most` of the shortest hints, best first; empty: nothing that was tried fits.
std::vector<Hint> HintsFor(const Job& job, const Wishes& wishes, const SearchOptions& options,
                           std::size_t most = 3);
// The same for one plan that does not fit: every choice it makes is a wish.
std::vector<Hint> HintsFor(const Job& job, const Plan& plan, const SearchOptions& options,
                           std::size_t most = 3);
}  // namespace shardplan
