// SPDX-License-Identifier: Apache-2.0
#include "planner/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <tuple>

#include "planner/search/shortfall.h"
#include "tests/search/problems.h"

namespace shardplan {
namespace {
using testing::CountsOf;
using testing::ForEachPlan;
using testing::ObjectiveOf;
using testing::RandomProblem;
using testing::SearchProblem;
using testing::Transcript;

constexpr Objective kObjectives[] = {Objective::kThroughput, Objective::kMemory, Objective::kCost,
                                     Objective::kGpus};

class SearchOfRandomProblems : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  const std::unique_ptr<SearchProblem> problem_ = RandomProblem(GetParam());
  SearchResult Find(const SearchOptions& options) const {
    return Search(problem_->job, *problem_->space, options);
  }
  bool IsShort(const Evaluation& evaluation) const {
    return ShortfallOf(problem_->job, evaluation.step).missing.value > 0;
  }
};
INSTANTIATE_TEST_SUITE_P(Seeds, SearchOfRandomProblems, ::testing::Range<std::uint64_t>(0, 24));

// A pruned plan could not have been ranked.
TEST_P(SearchOfRandomProblems, PruningChangesNothing) {
  for (const Objective objective : kObjectives)
    for (const int keep : {1, 20}) {
      SearchOptions options{.objective = objective, .keep = keep, .threads = 1};
      const SearchResult pruned = Find(options);
      options.prune = false;
      const SearchResult all = Find(options);
      ASSERT_EQ(Transcript(pruned.plans), Transcript(all.plans)) << "keep " << keep;
      EXPECT_LE(pruned.evaluated, all.evaluated);
    }
}

// Who is faster decides nothing: neither the ranking nor a counter.
TEST_P(SearchOfRandomProblems, ThreadsAgreeToTheBit) {
  for (const Objective objective : {Objective::kThroughput, Objective::kMemory}) {
    const SearchResult one = Find({.objective = objective, .threads = 1});
    for (const int threads : {2, 4}) {
      const SearchResult more = Find({.objective = objective, .threads = threads});
      EXPECT_EQ(more.threads, threads);
      EXPECT_EQ(Transcript(one.plans), Transcript(more.plans)) << threads << " threads";
      EXPECT_EQ(CountsOf(one), CountsOf(more)) << threads << " threads";
    }
  }
}

// Whatever the search reports, the plain composition must say too, to the bit.
TEST_P(SearchOfRandomProblems, ShowsWhatEvaluateSays) {
  for (const Ranked& ranked : Find({.keep = 32}).plans) {
    const Evaluation& shown = ranked.evaluation;
    const Evaluation plain = Evaluate(problem_->job, shown.plan);
    for (std::size_t i = 0; i < plain.step.time.size(); ++i)
      ASSERT_EQ(shown.step.time[i], plain.step.time[i]) << Key(shown.plan);
    ASSERT_EQ(shown.peak_allocated, plain.peak_allocated) << Key(shown.plan);
    ASSERT_EQ(shown.peak_device, plain.peak_device) << Key(shown.plan);
    ASSERT_EQ(shown.verdict, plain.verdict) << Key(shown.plan);
  }
}

// What is known before the allocator's replay is a bound: it only ever adds memory.
TEST_P(SearchOfRandomProblems, WeighsNoMoreThanItEvaluates) {
  std::size_t number = 0;
  ForEachPlan(*problem_->space, [&](const Plan& plan) {
    if (number++ % 97 != 0) return;
    const Evaluation weighed = Weigh(problem_->job, plan), whole = Evaluate(problem_->job, plan);
    ASSERT_EQ(weighed.step.Time(), whole.step.Time()) << Key(plan);
    ASSERT_EQ(weighed.peak_allocated, whole.peak_allocated) << Key(plan);
    ASSERT_LE(weighed.step.unavoidable, whole.step.unavoidable) << Key(plan);
    ASSERT_LE(weighed.peak_device, whole.peak_device) << Key(plan);
    if (IsShort(weighed)) {
      ASSERT_TRUE(IsShort(whole)) << Key(plan);
    }
    if (IsShort(whole)) return;
    for (const Objective objective : kObjectives)
      ASSERT_FALSE(ScoreOf(objective, whole) < LeastScoreOf(objective, weighed)) << Key(plan);
  });
}

TEST_P(SearchOfRandomProblems, RanksFromTheBestAndKeepsWhatWasAsked) {
  for (const Objective objective : kObjectives) {
    const std::vector<Ranked> plans = Find({.objective = objective, .keep = 7}).plans;
    ASSERT_LE(plans.size(), 7u);
    for (std::size_t i = 0; i < plans.size(); ++i) {
      EXPECT_EQ(plans[i].rank, static_cast<int>(i) + 1);
      EXPECT_FALSE(IsShort(plans[i].evaluation));
      EXPECT_NE(plans[i].evaluation.verdict, Verdict::kIllegal);
      if (i == 0) {
        EXPECT_EQ(plans[i].tie, 1);
        continue;
      }
      EXPECT_GE(plans[i].tie, plans[i - 1].tie);
      EXPECT_LE(plans[i].tie, plans[i - 1].tie + 1);
      EXPECT_GE(ObjectiveOf(objective, plans[i].evaluation),
                ObjectiveOf(objective, plans[i - 1].evaluation));
    }
  }
}

// Without pruning, every point of the domain is either evaluated or charged to a rule, and every
// evaluated plan either fits or is charged to what it is short of.
TEST_P(SearchOfRandomProblems, CountersAddUp) {
  const SearchResult result = Find({.prune = false});
  double by_rules = 0, short_of = 0;
  for (const auto& [reason, count] : result.rejected)
    (reason == "memory" || reason == "host" ? short_of : by_rules) += count;
  EXPECT_EQ(result.covered, by_rules + result.evaluated);
  EXPECT_EQ(result.evaluated, result.fitting + short_of);
  EXPECT_TRUE(result.complete);
}

// Seconds each.
class SearchOfSomeProblems : public SearchOfRandomProblems {};
INSTANTIATE_TEST_SUITE_P(Seeds, SearchOfSomeProblems, ::testing::Values(0, 1, 3, 6));

// The search is staged for speed. It must find what evaluating every plan finds.
TEST_P(SearchOfSomeProblems, RankingIsThatOfEvaluatingEveryPlan) {
  using Row = std::tuple<double, double, double>;  // objective, time, memory
  std::vector<std::vector<Row>> rows(std::size(kObjectives));
  ForEachPlan(*problem_->space, [&](const Plan& plan) {
    if (IsShort(Weigh(problem_->job, plan))) return;
    const Evaluation e = Evaluate(problem_->job, plan);
    if (IsShort(e)) return;
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i].push_back(
          {ObjectiveOf(kObjectives[i], e), ExpectedTime(e).value, e.peak_allocated.value});
  });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<Row>& fitting = rows[i];
    std::sort(fitting.begin(), fitting.end(), [&](const Row& a, const Row& b) {
      const auto& [a_objective, a_time, a_memory] = a;
      const auto& [b_objective, b_time, b_memory] = b;
      if (kObjectives[i] == Objective::kThroughput || kObjectives[i] == Objective::kCost)
        return std::tie(a_objective, a_memory) < std::tie(b_objective, b_memory);
      return a < b;
    });
    const SearchResult result = Find({.objective = kObjectives[i], .keep = 50, .threads = 2});
    ASSERT_EQ(result.plans.size(), std::min<std::size_t>(50, fitting.size()));
    for (std::size_t rank = 0; rank < result.plans.size(); ++rank) {
      const Evaluation& e = result.plans[rank].evaluation;
      ASSERT_EQ(ObjectiveOf(kObjectives[i], e), std::get<0>(fitting[rank])) << "rank " << rank;
      ASSERT_EQ(ExpectedTime(e).value, std::get<1>(fitting[rank])) << "rank " << rank;
      ASSERT_EQ(e.peak_allocated.value, std::get<2>(fitting[rank])) << "rank " << rank;
    }
  }
}

TEST(Search, SaysWhatIsNearestWhereNothingFits) {
  SearchProblem problem;
  problem.model = testing::Llama70b();
  problem.machine = testing::DgxA100(1);
  problem.training = testing::TrainingOf(FrameworkId::kMegatron, 8192, 64);
  problem.wishes.offload = {Offload::kNone};
  problem.Bind();
  const SearchResult result = Search(problem.job, *problem.space, {.threads = 2});
  ASSERT_TRUE(result.plans.empty());
  ASSERT_EQ(result.nearest.size(), 5u);
  EXPECT_EQ(result.fitting, 0);
  EXPECT_EQ(result.rejected.at("memory"), result.evaluated);
  Bytes least{1e18};
  ForEachPlan(*problem.space, [&](const Plan& plan) {
    least = Min(least, ShortfallOf(problem.job, Bound(problem.job, plan)).missing);
  });
  // The bound knows no fragmentation.
  EXPECT_GT(result.nearest.front().missing / least, 1 - 1e-6);
  EXPECT_LT(result.nearest.front().missing / least, 1.1);
  for (std::size_t i = 0; i < result.nearest.size(); ++i) {
    const Nearest& near = result.nearest[i];
    EXPECT_NE(near.evaluation.verdict, Verdict::kFits);
    EXPECT_EQ(near.missing, ShortfallOf(problem.job, near.evaluation.step).missing);
    if (i > 0) {
      EXPECT_GE(near.missing, result.nearest[i - 1].missing);
    }
  }
}

TEST(Search, OfAnEmptySpaceFindsNothing) {
  SearchProblem problem;
  problem.model = testing::TinyLlama();
  problem.machine = testing::DgxH100(1);
  problem.training = testing::TrainingOf(FrameworkId::kMegatron, 2048, 64);
  problem.wishes.tp = {3};
  problem.Bind();
  const SearchResult result = Search(problem.job, *problem.space, {});
  EXPECT_TRUE(result.plans.empty());
  EXPECT_TRUE(result.nearest.empty());
  EXPECT_EQ(result.evaluated, 0);
  EXPECT_GT(result.covered, 0);
  EXPECT_TRUE(result.complete);
}

TEST(Search, ThatIsCancelledStopsSoonAndSaysSo) {
  const auto problem = RandomProblem(0);
  const std::atomic<bool> cancel{true};
  const SearchResult result =
      Search(problem->job, *problem->space, {.threads = 2, .cancel = &cancel});
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.evaluated, 0);
  EXPECT_TRUE(result.plans.empty());
}

TEST(Search, CancelledInTheMiddleRanksWhatItHas) {
  const auto problem = RandomProblem(2);
  std::atomic<bool> cancel{false};
  const std::jthread later([&] { cancel = true; });
  const SearchResult result =
      Search(problem->job, *problem->space, {.threads = 2, .cancel = &cancel});
  for (std::size_t i = 1; i < result.plans.size(); ++i)
    EXPECT_LE(ExpectedTime(result.plans[i - 1].evaluation),
              ExpectedTime(result.plans[i].evaluation));
}
}  // namespace
}  // namespace shardplan
