// SPDX-License-Identifier: Apache-2.0
// The best plans seen so far, a fixed number of them, in a total order.
//
// The order is score, then the plan's axes; so the frontier holds the same plans whatever the order
// in which they were offered. A plan is built only when its score may be kept.
#pragma once
#include <cstddef>
#include <vector>

#include "planner/search/score.h"

namespace shardplan {

struct Candidate {
  Score score;
  Plan plan;
};

// Total: of two different plans exactly one is before the other.
bool IsBefore(const Candidate& a, const Candidate& b);

class Frontier {
 public:
  // REQUIRES: capacity >= 1.
  explicit Frontier(std::size_t capacity) : capacity_(capacity) {}

  // No plan with a score beyond this one would be kept.
  const Score& Limit() const { return limit_; }

  void Offer(const Score& score, const Sharding& sharding, const Placement& placement,
             const Policy& policy) {
    if (limit_ < score) return;
    Offer({score, {sharding, placement, policy}});
  }
  void Offer(Candidate candidate);

  // Takes everything that `other` holds, which is empty afterwards.
  void Merge(Frontier& other);

  std::size_t Capacity() const { return capacity_; }
  bool Full() const { return heap_.size() == capacity_; }

  // All candidates, best first; the frontier is empty afterwards.
  std::vector<Candidate> TakeSorted();

 private:
  std::size_t capacity_;
  Score limit_ = kWorst;
  std::vector<Candidate> heap_;  // the worst is in front
};
}  // namespace shardplan
