// SPDX-License-Identifier: Apache-2.0
#include "planner/search/search.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "planner/plan/axes.h"
#include "planner/search/parallel.h"
#include "planner/search/shortfall.h"
#include "planner/search/sweep.h"

namespace shardplan {
namespace {

constexpr std::size_t kNearest = 5;
// Plans evaluated at once. A round evaluates at most this many in vain, whatever the threads.
constexpr std::size_t kRound = 16;
constexpr double kTie = 1.001;

struct Entry {
  Score score;
  Evaluation evaluation;
};

bool IsBetter(const Entry& a, const Entry& b) {
  if (!(a.score == b.score)) return a.score < b.score;
  return Compare(a.evaluation.plan, b.evaluation.plan) < 0;
}

// The best evaluated plans and, while there are none, those that came closest.
class Ranking {
 public:
  Ranking(const Job& job, Objective objective, std::size_t keep)
      : job_(job), objective_(objective), keep_(keep) {}

  void Add(Evaluation evaluation) {
    const Shortfall shortfall = ShortfallOf(job_, evaluation.step);
    if (evaluation.verdict == Verdict::kOom) {
      ++(shortfall.of == "host" ? short_of_host_ : short_of_memory_);
      const Score score{
          {shortfall.missing.value, evaluation.step.Time().value, evaluation.peak_allocated.value}};
      Insert(misses_, kNearest, {score, std::move(evaluation)});
    } else {
      const Score score = ScoreOf(objective_, evaluation);
      Insert(best_, keep_, {score, std::move(evaluation)});
    }
  }

  // No plan beyond this score would be ranked.
  Score Limit() const { return best_.size() < keep_ ? kWorst : best_.back().score; }
  bool Empty() const { return best_.empty(); }
  double ShortOfMemory() const { return short_of_memory_; }
  double ShortOfHost() const { return short_of_host_; }

  std::vector<Ranked> TakePlans() {
    std::vector<Ranked> plans;
    Score first_of_tie = best_.empty() ? kWorst : best_.front().score;
    int tie = 1;
    for (Entry& entry : best_) {
      if (!IsTie(first_of_tie, entry.score)) {
        first_of_tie = entry.score;
        ++tie;
      }
      const int rank = static_cast<int>(plans.size()) + 1;
      plans.push_back({.rank = rank, .tie = tie, .evaluation = std::move(entry.evaluation)});
    }
    return plans;
  }

  std::vector<Nearest> TakeNearest() {
    std::vector<Nearest> nearest;
    for (Entry& entry : misses_)
      nearest.push_back({std::move(entry.evaluation), Bytes{entry.score.value[0]}});
    return nearest;
  }

 private:
  // A number of GPUs has no noise: among equal ones the time decides.
  bool IsTie(const Score& a, const Score& b) const {
    if (objective_ != Objective::kGpus) return b.value[0] <= a.value[0] * kTie;
    return b.value[0] == a.value[0] && b.value[1] <= a.value[1] * kTie;
  }

  static void Insert(std::vector<Entry>& entries, std::size_t keep, Entry entry) {
    entries.insert(std::upper_bound(entries.begin(), entries.end(), entry, IsBetter),
                   std::move(entry));
    if (entries.size() > keep) entries.pop_back();
  }

  const Job& job_;
  Objective objective_;
  std::size_t keep_;
  std::vector<Entry> best_, misses_;  // best first
  double short_of_memory_ = 0, short_of_host_ = 0;
};

// Evaluates [begin, end) of `candidates` and ranks them in their order.
void EvaluateRange(const Job& job, const std::vector<Candidate>& candidates, std::size_t begin,
                   std::size_t end, int threads, Ranking& ranking) {
  std::vector<Evaluation> evaluations(end - begin);
  ParallelFor(threads, begin, end, [&](int, std::size_t i) {
    evaluations[i - begin] = Evaluate(job, candidates[i].plan);
  });
  for (Evaluation& evaluation : evaluations) ranking.Add(std::move(evaluation));
}

// Evaluates candidates in the order of their bounds. True: no later bound can be ranked.
bool Refine(const Job& job, const std::vector<Candidate>& candidates, const SearchOptions& options,
            int threads, Ranking& ranking) {
  for (std::size_t begin = 0; begin < candidates.size();) {
    if (ranking.Limit() < candidates[begin].score) return true;
    // After a cancel, what is found is ranked, but it is not followed to the end.
    if (begin > 0 && options.cancel != nullptr && options.cancel->load()) return true;
    const std::size_t end = std::min(candidates.size(), begin + kRound);
    EvaluateRange(job, candidates, begin, end, threads, ranking);
    begin = end;
  }
  return false;
}
}  // namespace

SearchResult Search(const Job& job, const Space& space, const SearchOptions& options) {
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const std::size_t keep = static_cast<std::size_t>(std::max(1, options.keep));
  SearchResult result;
  result.threads = options.threads > 0 ? options.threads : processors;

  Ranking ranking(job, options.objective, keep);
  Window window;
  Tally tally;
  std::vector<Candidate> misses;
  // A pass holds a fixed number of plans. When all of them are evaluated and later ones may still
  // be ranked, a larger pass fetches those that follow; it is pruned by the plans already ranked.
  std::size_t capacity = std::max<std::size_t>(32, 2 * keep);
  for (bool first = true;; first = false, capacity *= 8) {
    Frontier best(capacity), nearest(kNearest);
    const Tally pass = Sweep(job, space, options, result.threads, window, best, nearest);
    if (first) {
      tally = pass;
      misses = nearest.TakeSorted();
    }
    const bool all = !best.Full();
    const std::vector<Candidate> candidates = best.TakeSorted();
    if (Refine(job, candidates, options, result.threads, ranking) || all) break;
    window = {candidates.back(), ranking.Limit()};
  }
  // Plans that fit by Bound and not by Evaluate change sides.
  tally.fitting -= ranking.ShortOfMemory() + ranking.ShortOfHost();
  tally.short_of_memory += ranking.ShortOfMemory();
  tally.short_of_host += ranking.ShortOfHost();
  if (ranking.Empty()) EvaluateRange(job, misses, 0, misses.size(), result.threads, ranking);

  result.complete = options.cancel == nullptr || !options.cancel->load();
  result.covered = space.Covered();
  result.rejected = space.Rejected();
  result.evaluated = tally.evaluated;
  result.fitting = tally.fitting;
  if (tally.short_of_memory > 0) result.rejected["memory"] += tally.short_of_memory;
  if (tally.short_of_host > 0) result.rejected["host"] += tally.short_of_host;
  result.plans = ranking.TakePlans();
  if (result.plans.empty()) result.nearest = ranking.TakeNearest();
  return result;
}
}  // namespace shardplan
