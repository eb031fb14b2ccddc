// SPDX-License-Identifier: Apache-2.0
// Small search problems: each has some thousands of plans, of which some fit.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "planner/framework/defaults.h"
#include "planner/plan/axes.h"
#include "planner/search/score.h"
#include "planner/search/search.h"
#include "tests/support/cases.h"

namespace shardplan::testing {

// Stays where it was made: the job and the space point into it.
struct SearchProblem {
  Model model;
  Machine machine;
  Training training;
  Wishes wishes;
  Job job;
  std::unique_ptr<Space> space;

  SearchProblem() = default;
  SearchProblem(const SearchProblem&) = delete;
  SearchProblem& operator=(const SearchProblem&) = delete;

  void Bind(Bytes reserve = {}) {
    job = MakeJob(model, machine, training, reserve);
    space = std::make_unique<Space>(model, machine, training, wishes);
  }
};

inline Training TrainingOf(FrameworkId framework, int seq_length, int batch) {
  const TrainingDefaults defaults = DefaultsOf(framework, Precision::kBf16Mixed, "", false);
  Training training;
  training.framework = framework;
  training.framework_version = FrameworkOf(framework).newest_version;
  training.seq_length = seq_length;
  training.global_batch_size = batch;
  training.gradient_dtype = defaults.gradient_dtype;
  training.reduce_dtype = defaults.reduce_dtype;
  training.optimizer_state_dtype = defaults.optimizer_state_dtype;
  training.optimizer_impl = defaults.optimizer_impl;
  training.attention = defaults.attention;
  training.loss = defaults.loss;
  training.vocab_parallel = defaults.vocab_parallel;
  return training;
}

// Different seeds differ in model, cluster, framework, batch and wishes.
inline std::unique_ptr<SearchProblem> RandomProblem(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](auto... values) {
    const std::common_type_t<decltype(values)...> all[] = {values...};
    return all[random() % sizeof...(values)];
  };
  auto problem = std::make_unique<SearchProblem>();
  const bool experts = seed % 4 == 3;
  problem->model = experts ? Mixtral() : seed % 2 == 1 ? TinyLlama() : Llama70b();
  problem->machine = pick(0, 1) == 0 ? DgxH100(pick(1, 2, 4)) : DgxA100(pick(1, 2));
  const FrameworkId framework =
      experts ? FrameworkId::kMegatron
              : pick(FrameworkId::kMegatron, FrameworkId::kMegatron, FrameworkId::kTorchtitan,
                     FrameworkId::kFsdp, FrameworkId::kDeepspeed);
  problem->training = TrainingOf(framework, pick(2048, 4096, 8192), pick(64, 96, 128));
  problem->wishes.micro_batch_size = {1, 2, 4};
  if (pick(0, 1) == 1) problem->wishes.offload = {Offload::kNone};
  if (experts) problem->wishes.tp = {1, 2, 4};
  if (pick(0, 1, 2) == 0) problem->wishes.overlap_tp = true;
  problem->Bind({pick(0.0, 2e9, 10e9)});
  return problem;
}

// visit(plan) for every legal plan.
template <class Visit>
void ForEachPlan(const Space& space, const Visit& visit) {
  for (const Sharding& sharding : space.Shardings())
    for (const Placement& placement : space.Placements(sharding))
      for (const Policy& policy : space.Policies(sharding, placement))
        visit(Plan{sharding, placement, policy});
}

inline double ObjectiveOf(Objective objective, const Evaluation& evaluation) {
  const Plan& plan = evaluation.plan;
  const double gpus =
      double(plan.sharding.tp) * plan.sharding.cp * plan.placement.pp * plan.placement.dp;
  switch (objective) {
    case Objective::kThroughput:
      return ExpectedTime(evaluation).value;
    case Objective::kMemory:
      return evaluation.peak_allocated.value;
    case Objective::kCost:
      return gpus * ExpectedTime(evaluation).value;
    case Objective::kGpus:
      return gpus;
  }
  return 0;
}

// What is ranked, to the bit, a line a plan.
inline std::string Transcript(const std::vector<Ranked>& plans) {
  std::string text;
  char line[160];
  for (const Ranked& ranked : plans) {
    const Evaluation& e = ranked.evaluation;
    std::snprintf(line, sizeof line, "%d %d %a %a %a %s ", ranked.rank, ranked.tie,
                  e.step.Time().value, e.peak_allocated.value, e.peak_device.value,
                  Name(e.verdict));
    text += line + Key(e.plan) + "\n";
  }
  return text;
}

// The same of what a search counts and says of plans that do not fit.
inline std::string CountsOf(const SearchResult& result) {
  std::string text = std::to_string(result.covered) + " " + std::to_string(result.evaluated) + " " +
                     std::to_string(result.fitting);
  for (const auto& [reason, count] : result.rejected)
    text += " " + reason + "=" + std::to_string(count);
  for (const Nearest& near : result.nearest)
    text += "\n" + std::to_string(near.missing.value) + " " + Key(near.evaluation.plan);
  return text;
}
}  // namespace shardplan::testing
