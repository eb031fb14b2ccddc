// SPDX-License-Identifier: Apache-2.0
#include "planner/search/frontier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "planner/plan/axes.h"

namespace shardplan {
namespace {

// Candidates of which many have the same score.
std::vector<Candidate> SomeCandidates(std::uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  std::vector<Candidate> candidates;
  for (int i = 0; i < count; ++i) {
    Candidate candidate;
    candidate.plan.sharding.tp = i + 1;
    candidate.score = {{double(random() % 5), double(random() % 3), 0}};
    candidates.push_back(candidate);
  }
  return candidates;
}

void ExpectSame(const std::vector<Candidate>& a, const std::vector<Candidate>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].plan, b[i].plan) << i;
}

TEST(Frontier, KeepsTheFirstOfTheTotalOrderWhateverTheOrderOfOffers) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<Candidate> candidates = SomeCandidates(seed, 60);
    std::vector<Candidate> sorted = candidates;
    std::sort(sorted.begin(), sorted.end(), IsBefore);
    for (const std::size_t capacity : {1u, 7u, 60u, 100u}) {
      Frontier frontier(capacity);
      std::shuffle(candidates.begin(), candidates.end(), std::mt19937_64(seed));
      for (const Candidate& candidate : candidates) {
        const auto& [sharding, placement, policy] = candidate.plan;
        frontier.Offer(candidate.score, sharding, placement, policy);
      }
      std::vector<Candidate> best = sorted;
      best.resize(std::min(capacity, best.size()));
      ExpectSame(frontier.TakeSorted(), best);
    }
  }
}

TEST(Frontier, MergedFromPartsIsThatOfTheWhole) {
  const std::vector<Candidate> candidates = SomeCandidates(7, 90);
  Frontier whole(10), sum(10);
  std::vector<Frontier> parts(3, Frontier(10));
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    whole.Offer(candidates[i]);
    parts[i % 3].Offer(candidates[i]);
  }
  for (Frontier& part : parts) {
    sum.Merge(part);
    EXPECT_EQ(part.Limit(), kWorst);
  }
  ExpectSame(sum.TakeSorted(), whole.TakeSorted());
}

TEST(Frontier, LimitExcludesNothingUntilItIsFull) {
  Frontier frontier(2);
  EXPECT_EQ(frontier.Limit(), kWorst);
  frontier.Offer({{{3, 0, 0}}, {}});
  EXPECT_EQ(frontier.Limit(), kWorst);
  frontier.Offer({{{1, 0, 0}}, {}});
  EXPECT_EQ(frontier.Limit(), (Score{{3, 0, 0}}));
  frontier.Offer({{{2, 0, 0}}, {}});
  EXPECT_EQ(frontier.Limit(), (Score{{2, 0, 0}}));
}

TEST(Score, ComparesTheFirstNumberThatDiffers) {
  EXPECT_LT((Score{{1, 9, 9}}), (Score{{2, 0, 0}}));
  EXPECT_LT((Score{{1, 1, 9}}), (Score{{1, 2, 0}}));
  EXPECT_FALSE((Score{{1, 2, 3}}) < (Score{{1, 2, 3}}));
}
}  // namespace
}  // namespace shardplan
