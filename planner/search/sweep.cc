// SPDX-License-Identifier: Apache-2.0
#include "planner/search/sweep.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "planner/search/parallel.h"
#include "planner/search/prune.h"
#include "planner/search/shortfall.h"

namespace shardplan {
namespace {

// Bound and Evaluate add the same terms in different orders. What the sums can lose to rounding
// must not make a bound exceed the truth.
constexpr double kRounding = 1 - 1e-9;

// Shardings of the first round. Later rounds double what was covered, which keeps the waiting at
// their ends short and the limit that prunes them fresh.
constexpr std::size_t kFirstRound = 32;

Overlap MostOverlap(const std::vector<Policy>& policies) {
  Overlap most;
  for (const Policy& policy : policies) {
    most.grad_reduce |= policy.overlap.grad_reduce;
    most.param_gather |= policy.overlap.param_gather;
    most.tp |= policy.overlap.tp;
    most.p2p |= policy.overlap.p2p;
    most.moe |= policy.overlap.moe;
  }
  return most;
}

struct Worker {
  Frontier best, nearest;
  Tally tally;
};

class Pass {
 public:
  Pass(const Job& job, const Space& space, const SearchOptions& options, const Window& window)
      : job_(job), space_(space), options_(options), window_(window) {}

  // Offers the plans of one sharding. Plans beyond `limit` may be left out, stages at once.
  void Explore(const Sharding& sharding, const Score& limit, Worker& worker) const {
    const LayersCost layers = CostLayers(job_, sharding);
    for (const Placement& placement : space_.Placements(sharding)) {
      if (Cancelled()) return;
      const StageCost stage = CostStage(job_, layers, sharding, placement);
      const std::vector<Policy> policies = space_.Policies(sharding, placement);
      const Seconds least = LeastTime(stage, MostOverlap(policies));
      // Strict: a plan that ties with the worst kept one may still come before it by its key.
      if (options_.prune && limit < BoundScore(sharding, placement, least, {})) continue;
      for (const Policy& policy : policies) Offer(stage, sharding, placement, policy, worker);
    }
  }

  bool Cancelled() const {
    return options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed);
  }

 private:
  Score BoundScore(const Sharding& sharding, const Placement& placement, Seconds time,
                   Bytes memory) const {
    return ScoreOf(options_.objective, GpusOf(sharding, placement), time * kRounding,
                   memory * kRounding);
  }

  void Offer(const StageCost& stage, const Sharding& sharding, const Placement& placement,
             const Policy& policy, Worker& worker) const {
    const StepCost step = CostStep(job_, stage, policy);
    ++worker.tally.evaluated;
    const Shortfall shortfall = ShortfallOf(job_, step);
    if (shortfall.missing.value > 0) {
      ++(shortfall.of == "host" ? worker.tally.short_of_host : worker.tally.short_of_memory);
      worker.nearest.Offer({{shortfall.missing.value, step.Time().value, step.allocated.value}},
                           sharding, placement, policy);
      return;
    }
    ++worker.tally.fitting;
    const Score score = BoundScore(sharding, placement, step.Time(), step.allocated);
    if (window_.limit < score || score < window_.after.score) return;
    if (score == window_.after.score &&
        !IsBefore(window_.after, {score, {sharding, placement, policy}}))
      return;
    worker.best.Offer(score, sharding, placement, policy);
  }

  const Job& job_;
  const Space& space_;
  const SearchOptions& options_;
  const Window& window_;
};

// An order of visit that mixes all parts of the space from the start: a stride near the golden
// section of `count` that shares no factor with it.
std::size_t MixingStride(std::size_t count) {
  std::size_t stride =
      std::max<std::size_t>(1, static_cast<std::size_t>(0.618 * static_cast<double>(count)));
  while (std::gcd(stride, count) != 1) ++stride;
  return stride;
}
}  // namespace

Tally Sweep(const Job& job, const Space& space, const SearchOptions& options, int threads,
            const Window& window, Frontier& best, Frontier& nearest) {
  const Pass pass(job, space, options, window);
  const std::vector<Sharding>& shardings = space.Shardings();
  std::vector<Worker> workers(static_cast<std::size_t>(threads),
                              {Frontier(best.Capacity()), Frontier(nearest.Capacity()), {}});
  const std::size_t count = shardings.size();
  const std::size_t stride = count == 0 ? 1 : MixingStride(count);
  for (std::size_t begin = 0; begin < count && !pass.Cancelled();) {
    // The limit is fixed for a round: which plans are pruned must not depend on who was faster.
    const Score limit = std::min(window.limit, best.Limit());
    const std::size_t end = std::min(count, std::max(kFirstRound, 2 * begin));
    ParallelFor(threads, begin, end, [&](int worker, std::size_t i) {
      pass.Explore(shardings[i * stride % count], limit, workers[static_cast<std::size_t>(worker)]);
    });
    for (Worker& worker : workers) {
      best.Merge(worker.best);
      nearest.Merge(worker.nearest);
    }
    begin = end;
  }
  Tally sum;
  for (const Worker& worker : workers) {
    sum.evaluated += worker.tally.evaluated;
    sum.fitting += worker.tally.fitting;
    sum.short_of_memory += worker.tally.short_of_memory;
    sum.short_of_host += worker.tally.short_of_host;
  }
  return sum;
}
}  // namespace shardplan
