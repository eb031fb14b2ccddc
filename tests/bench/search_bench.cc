// SPDX-License-Identifier: Apache-2.0
// How fast plans are priced, and whole specs searched.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "planner/search/search.h"
#include "planner/spec/problem.h"

namespace shardplan {
namespace {

// Stays where it was made: the job points into the problem.
struct Bench {
  Problem problem;
  Job job;
};

std::unique_ptr<Bench> BenchOf(const std::string& name, benchmark::State& state) {
  Result<Problem> problem =
      ReadProblem(SHARDPLAN_SOURCE_DIR "/configs/specs/" + name + ".yaml", {}, Needs::kAll);
  if (!problem) {
    state.SkipWithError(problem.error().message.c_str());
    return nullptr;
  }
  auto bench = std::make_unique<Bench>();
  bench->problem = std::move(*problem);
  bench->job = MakeJob(bench->problem.model, bench->problem.machine, bench->problem.training,
                       bench->problem.memory_reserve);
  return bench;
}

// Policies of one stage after another, as the search's innermost loop has them.
void CostSteps(benchmark::State& state, const std::string& name) {
  const auto bench = BenchOf(name, state);
  if (bench == nullptr) return;
  const Problem& p = bench->problem;
  const Space space(p.model, p.machine, p.training, p.wishes);
  std::vector<std::pair<StageCost, std::vector<Policy>>> stages;
  for (const Sharding& sharding : space.Shardings()) {
    const LayersCost layers = CostLayers(bench->job, sharding);
    for (const Placement& placement : space.Placements(sharding))
      stages.emplace_back(CostStage(bench->job, layers, sharding, placement),
                          space.Policies(sharding, placement));
    if (stages.size() > 200) break;
  }
  std::int64_t plans = 0;
  for (auto _ : state)
    for (const auto& [stage, policies] : stages)
      for (const Policy& policy : policies) {
        benchmark::DoNotOptimize(CostStep(bench->job, stage, policy));
        ++plans;
      }
  state.SetItemsProcessed(plans);
}

// A whole search, from the spec's wishes to the ranking; items are plans covered.
void WholeSearch(benchmark::State& state, const std::string& name) {
  const auto bench = BenchOf(name, state);
  if (bench == nullptr) return;
  const Problem& p = bench->problem;
  SearchOptions options = p.search;
  options.threads = static_cast<int>(state.range(0));
  SearchResult result;
  for (auto _ : state) {
    const Space space(p.model, p.machine, p.training, p.wishes);
    result = Search(bench->job, space, options);
    benchmark::DoNotOptimize(result.plans.data());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(result.covered) *
                          static_cast<std::int64_t>(state.iterations()));
  state.counters["evaluated"] = result.evaluated;
  state.counters["fitting"] = result.fitting;
}

BENCHMARK_CAPTURE(CostSteps, llama_405b, std::string("llama-3.1-405b-16384xh100"));
BENCHMARK_CAPTURE(CostSteps, deepseek_v3, std::string("deepseek-v3-2048xh100"));
BENCHMARK_CAPTURE(WholeSearch, llama_405b, std::string("llama-3.1-405b-16384xh100"))
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(WholeSearch, mt_nlg_530b, std::string("mt-nlg-530b-2520xa100"))
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
}  // namespace
}  // namespace shardplan
