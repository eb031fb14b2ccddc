// SPDX-License-Identifier: Apache-2.0
// What the search minimizes: a row of numbers, compared one after the other.
//
// The first number is the objective, the others decide between plans that it cannot tell apart.
// Numbers that are each no greater make a score that is no greater, so a bound by number is a
// bound.
#pragma once
#include <algorithm>
#include <array>
#include <limits>

#include "planner/cost/cost.h"
#include "planner/search/search.h"

namespace shardplan {

struct Score {
  std::array<double, 3> value{};

  friend constexpr bool operator<(const Score& a, const Score& b) {
    for (std::size_t i = 0; i < a.value.size(); ++i)
      if (a.value[i] != b.value[i]) return a.value[i] < b.value[i];
    return false;
  }
  friend constexpr bool operator==(const Score& a, const Score& b) = default;
};

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();
inline constexpr Score kWorst{{kInfinite, kInfinite, kInfinite}};  // excludes no plan

inline double GpusOf(const Sharding& sharding, const Placement& placement) {
  return static_cast<double>(sharding.tp) * sharding.cp * placement.pp * placement.dp;
}

constexpr Score ScoreOf(Objective objective, double gpus, Seconds time, Bytes memory) {
  switch (objective) {
    case Objective::kThroughput:
      return {{time.value, memory.value, gpus}};
    case Objective::kMemory:
      return {{memory.value, time.value, gpus}};
    case Objective::kCost:
      return {{gpus * time.value, memory.value, gpus}};
    case Objective::kGpus:
      return {{gpus, time.value, memory.value}};
  }
  return kWorst;
}

// A plan that runs out of memory trains nothing: what counts is the step over the chance that it
// fits, which is never less than the step.
inline Seconds ExpectedTime(const Evaluation& evaluation) {
  return evaluation.step.Time() / std::max(1e-3, 1 - evaluation.p_oom);
}

inline Score ScoreOf(Objective objective, const Evaluation& evaluation) {
  return ScoreOf(objective, GpusOf(evaluation.plan.sharding, evaluation.plan.placement),
                 ExpectedTime(evaluation), evaluation.peak_allocated);
}

// Two sums of the same terms in another order: what rounding can lose must not make a bound exceed
// the truth.
inline constexpr double kRounding = 1 - 1e-9;

// Of a plan that was weighed: no more than the score of its evaluation.
inline Score LeastScoreOf(Objective objective, const Evaluation& weighed) {
  return ScoreOf(objective, GpusOf(weighed.plan.sharding, weighed.plan.placement),
                 ExpectedTime(weighed) * kRounding, weighed.peak_allocated * kRounding);
}
}  // namespace shardplan
