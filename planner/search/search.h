// SPDX-License-Identifier: Apache-2.0
// The search: every legal plan of a space, best first, in milliseconds.
//
// Binds choices in the order of the cost model, prunes strictly and admissibly, refines the
// frontier best-first with Evaluate. The result does not depend on the number of threads.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "planner/cost/cost.h"
#include "planner/space/space.h"

namespace shardplan {

enum class Objective { kThroughput, kMemory, kCost, kGpus };

struct SearchOptions {
  Objective objective = Objective::kThroughput;
  int keep = 20;
  int threads = 0;                            // 0: as many as the machine has
  bool prune = true;                          // off only to prove that pruning changes nothing
  const std::atomic<bool>* cancel = nullptr;  // set: stop soon, best so far
};

struct Ranked {
  int rank = 1;
  int tie = 1;  // plans whose times cannot be told apart share this number
  Evaluation evaluation;
};

// A plan that is legal but does not fit, and by how much.
struct Nearest {
  Evaluation evaluation;
  Bytes missing;
};

struct SearchResult {
  std::vector<Ranked> plans;               // verdict fits or tight, best first
  std::vector<Nearest> nearest;            // where no plan fits: the closest ones
  double covered = 0;                      // legal and illegal, each once
  double evaluated = 0;                    // CostStep calls
  double fitting = 0;                      // of those, within memory (exact only without pruning)
  std::map<std::string, double> rejected;  // by rule id, "memory", "host"
  int threads = 1;
  double seconds = 0;
  bool complete = true;
};

SearchResult Search(const Job& job, const Space& space, const SearchOptions& options);
}  // namespace shardplan
