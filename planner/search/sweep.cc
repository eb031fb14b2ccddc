// SPDX-License-Identifier: Apache-2.0
#include "planner/search/sweep.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "planner/search/parallel.h"
#include "planner/search/prune.h"
#include "planner/search/shortfall.h"

namespace shardplan {
namespace {

// Shardings of the first round; each later one adds a quarter to what was covered. That keeps the
// waiting at their ends short and the limit that prunes them fresh.
constexpr std::size_t kFirstRound = 8;

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

// A sharding with its costs, in the order of what its layers' work alone takes: good plans come
// first, and most of the others are pruned by them.
struct Prospect {
  const Sharding* sharding = nullptr;
  LayersCost layers;
  Seconds work;
};

class Pass {
 public:
  Pass(const Job& job, const Space& space, const SearchOptions& options, const Window& window)
      : job_(job), space_(space), options_(options), window_(window) {}

  // Offers the plans of one sharding. Plans beyond `limit` may be left out, stages at once.
  void Explore(const Prospect& prospect, const Score& limit, Worker& worker) const {
    const Sharding& sharding = *prospect.sharding;
    for (const Placement& placement : space_.Placements(sharding)) {
      if (Cancelled()) return;
      const std::vector<Policy> policies = space_.Policies(sharding, placement);
      const Overlap most = MostOverlap(policies);
      // Strict: a plan that ties with the worst kept one may still come before it by its axes.
      const auto is_beyond = [&](Seconds least) {
        return options_.prune && limit < BoundScore(sharding, placement, least, {});
      };
      if (is_beyond(LeastTime(prospect.layers, *job_.model, placement, most))) continue;
      const StageCost stage = CostStage(job_, prospect.layers, sharding, placement);
      if (is_beyond(LeastTime(stage, most))) continue;
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

// What the layers' work takes where it fills the GPUs: the batch's micro batches, each on its
// share.
Seconds WorkOf(const Job& job, const Sharding& sharding, const LayersCost& layers) {
  const double ranks = double(job.machine->Gpus()) / (double(sharding.tp) * sharding.cp);
  const double microbatches = double(job.training->global_batch_size) / sharding.micro_batch_size;
  const Placement one{.microbatches = 1};
  return LeastTime(layers, *job.model, one, {}) * (microbatches / ranks);
}

std::vector<Prospect> Prospects(const Job& job, const Space& space, int threads) {
  const std::vector<Sharding>& shardings = space.Shardings();
  std::vector<Prospect> prospects(shardings.size());
  ParallelFor(threads, 0, shardings.size(), [&](int, std::size_t i) {
    LayersCost layers = CostLayers(job, shardings[i]);
    const Seconds work = WorkOf(job, shardings[i], layers);
    prospects[i] = {&shardings[i], std::move(layers), work};
  });
  std::stable_sort(prospects.begin(), prospects.end(),
                   [](const Prospect& a, const Prospect& b) { return a.work < b.work; });
  return prospects;
}
}  // namespace

Tally Sweep(const Job& job, const Space& space, const SearchOptions& options, int threads,
            const Window& window, Frontier& best, Frontier& nearest) {
  const Pass pass(job, space, options, window);
  const std::vector<Prospect> prospects = Prospects(job, space, threads);
  std::vector<Worker> workers(static_cast<std::size_t>(threads),
                              {Frontier(best.Capacity()), Frontier(nearest.Capacity()), {}});
  for (std::size_t begin = 0; begin < prospects.size() && !pass.Cancelled();) {
    // The limit is fixed for a round: which plans are pruned must not depend on who was faster.
    const Score limit = std::min(window.limit, best.Limit());
    const std::size_t end = std::min(prospects.size(), begin + std::max(kFirstRound, begin / 4));
    ParallelFor(threads, begin, end, [&](int worker, std::size_t i) {
      pass.Explore(prospects[i], limit, workers[static_cast<std::size_t>(worker)]);
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
