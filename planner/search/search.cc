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
// Plans weighed, and replayed, at once: at most so many in vain, whatever the threads.
constexpr std::size_t kRound = 16, kContest = 4;
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
    if (evaluation.verdict == Verdict::kOom) {
      const Shortfall shortfall = ShortfallOf(job_, evaluation.step);
      ++(shortfall.of == "host" ? short_of_host_ : short_of_memory_);
      const Score score{
          {shortfall.missing.value, evaluation.step.Time().value, evaluation.peak_allocated.value}};
      Insert(misses_, kNearest, {score, std::move(evaluation)});
    } else {
      const Score score = ScoreOf(objective_, evaluation);
      Insert(best_, keep_, {score, std::move(evaluation)});
    }
  }

  // How many plans more will be ranked whatever their score.
  std::size_t Places() const { return keep_ - best_.size(); }
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
    for (const Entry& entry : misses_) {
      Evaluation evaluation = Evaluate(job_, entry.evaluation.plan);
      const Bytes missing = ShortfallOf(job_, evaluation.step).missing;
      nearest.push_back({std::move(evaluation), missing});
    }
    std::stable_sort(nearest.begin(), nearest.end(),
                     [](const Nearest& a, const Nearest& b) { return a.missing < b.missing; });
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

// Brings the candidates of one pass into the ranking, best first. A candidate is weighed when its
// bound comes up, and goes through the allocator's replay only when its weight does: that is a
// bound too, since a replay adds nothing but memory.
class Contest {
 public:
  Contest(const Job& job, const SearchOptions& options, int threads, Ranking& ranking)
      : job_(job), options_(options), threads_(threads), ranking_(ranking) {}

  // True: no plan that comes after `candidates` can be ranked. `all`: there is none.
  bool Run(const std::vector<Candidate>& candidates, bool all) {
    std::size_t next = 0;
    const Score last = all ? kWorst : candidates.back().score;
    while (true) {
      // No plan that is still to be weighed comes before this.
      const Score bound = next < candidates.size() ? candidates[next].score : last;
      const bool waits = weighed_.empty() || !(weighed_.front().score < bound);
      if (ranking_.Limit() < (waits ? bound : weighed_.front().score)) return true;
      // After a cancel, what is found is ranked, but it is not followed to the end.
      if (options_.cancel != nullptr && options_.cancel->load() && !ranking_.Empty()) return true;
      if (!waits) {
        Replay(bound);
      } else if (next < candidates.size()) {
        const std::size_t end = std::min(candidates.size(), next + kRound);
        const auto begin = candidates.begin();
        Weigh({begin + std::ptrdiff_t(next), begin + std::ptrdiff_t(end)});
        next = end;
      } else {
        return all;
      }
    }
  }

  // What is out of memory already is ranked as such.
  void Weigh(const std::vector<Candidate>& candidates) {
    std::vector<Evaluation> evaluations(candidates.size());
    ParallelFor(threads_, 0, candidates.size(), [&](int, std::size_t i) {
      evaluations[i] = shardplan::Weigh(job_, candidates[i].plan);
    });
    for (Evaluation& evaluation : evaluations) {
      if (evaluation.verdict == Verdict::kOom) {
        ranking_.Add(std::move(evaluation));
        continue;
      }
      weighed_.push_back({LeastScoreOf(options_.objective, evaluation), evaluation.plan});
      std::push_heap(weighed_.begin(), weighed_.end(), IsAfter);
    }
  }

 private:
  static bool IsAfter(const Candidate& a, const Candidate& b) { return IsBefore(b, a); }

  // Of those before `bound`: as many as have a place anyway, or a few.
  void Replay(const Score& bound) {
    const std::size_t most = std::clamp(ranking_.Places(), kContest, kRound);
    std::vector<Plan> plans;
    while (plans.size() < most && !weighed_.empty() && weighed_.front().score < bound) {
      std::pop_heap(weighed_.begin(), weighed_.end(), IsAfter);
      plans.push_back(std::move(weighed_.back().plan));
      weighed_.pop_back();
    }
    std::vector<Evaluation> evaluations(plans.size());
    ParallelFor(threads_, 0, plans.size(),
                [&](int, std::size_t i) { evaluations[i] = Evaluate(job_, plans[i]); });
    for (Evaluation& evaluation : evaluations) ranking_.Add(std::move(evaluation));
  }

  const Job& job_;
  const SearchOptions& options_;
  const int threads_;
  Ranking& ranking_;
  std::vector<Candidate> weighed_;  // a heap, the best in front
};
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
  Contest contest(job, options, result.threads, ranking);
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
    if (contest.Run(candidates, all)) break;
    window = {candidates.back(), ranking.Limit()};
  }
  // Plans that fit by Bound and not by Evaluate change sides.
  tally.fitting -= ranking.ShortOfMemory() + ranking.ShortOfHost();
  tally.short_of_memory += ranking.ShortOfMemory();
  tally.short_of_host += ranking.ShortOfHost();
  if (ranking.Empty()) contest.Weigh(misses);

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
