// SPDX-License-Identifier: Apache-2.0
#include "planner/search/frontier.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "planner/base/check.h"
#include "planner/plan/axes.h"

namespace shardplan {

bool IsBefore(const Candidate& a, const Candidate& b) {
  if (!(a.score == b.score)) return a.score < b.score;
  return Compare(a.plan, b.plan) < 0;
}

void Frontier::Offer(Candidate candidate) {
  for (const double number : candidate.score.value) SHARDPLAN_CHECK(!std::isnan(number));
  if (Full()) {
    if (!IsBefore(candidate, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), IsBefore);
    heap_.back() = std::move(candidate);
  } else {
    heap_.push_back(std::move(candidate));
  }
  std::push_heap(heap_.begin(), heap_.end(), IsBefore);
  if (Full()) limit_ = heap_.front().score;
}

void Frontier::Merge(Frontier& other) {
  for (Candidate& candidate : other.heap_)
    if (!(limit_ < candidate.score)) Offer(std::move(candidate));
  other.heap_.clear();
  other.limit_ = kWorst;
}

std::vector<Candidate> Frontier::TakeSorted() {
  std::vector<Candidate> sorted = std::move(heap_);
  heap_.clear();
  limit_ = kWorst;
  std::sort(sorted.begin(), sorted.end(), IsBefore);
  return sorted;
}
}  // namespace shardplan
