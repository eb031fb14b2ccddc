// SPDX-License-Identifier: Apache-2.0
// One pass over a space: the best plans by Bound, a fixed number of them.
//
// Binds choices in the order of the cost model and leaves out what cannot be among the best. What
// it finds and counts does not depend on the number of threads.
#pragma once
#include <map>
#include <string>

#include "planner/search/frontier.h"
#include "planner/search/search.h"

namespace shardplan {

// Which plans a pass looks for: those behind `after` that are not beyond `limit`.
struct Window {
  Candidate after{.score = {{-kInfinite, -kInfinite, -kInfinite}}, .plan = {}};
  Score limit = kWorst;
};

struct Tally {
  double evaluated = 0, fitting = 0;
  double short_of_memory = 0, short_of_host = 0;
};

// `best` takes plans that fit by Bound, in order of Bound; `nearest` those that do not, in order of
// what they miss. REQUIRES: both are empty.
Tally Sweep(const Job& job, const Space& space, const SearchOptions& options, int threads,
            const Window& window, Frontier& best, Frontier& nearest);
}  // namespace shardplan
