// SPDX-License-Identifier: Apache-2.0
// Random legal plans of a target's framework, over several models and clusters.
#pragma once
#include <cctype>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "planner/framework/framework.h"
#include "planner/space/space.h"
#include "tests/export/jobs.h"

namespace shardplan::testing {

struct Setting {
  const char *model, *cluster;
  int nodes, sequence, batch;
};
inline constexpr Setting kSettings[] = {
    {"llama-3-8b", "dgx-h100", 4, 8192, 256},   {"llama-2-7b", "dgx-a100", 2, 4096, 128},
    {"mixtral-8x7b", "dgx-h100", 8, 4096, 256}, {"gpt2-xl", "dgx-a100", 1, 1024, 64},
    {"qwen2-0.5b", "dgx-h100", 1, 4096, 64},    {"deepseek-v2-lite", "dgx-h200", 2, 4096, 128},
};

// Where the target's versions are its framework's.
inline std::string VersionOf(const Chosen& chosen) {
  const bool namesake = FrameworkOf(chosen.target->frameworks.front()).name == chosen.target->name;
  return namesake ? ", framework_version: \"" + chosen.version + "\"" : "";
}

// Programs that cut data alone refuse nearly all of the space: theirs is drawn from the rest.
inline std::string PlanSection(const Target& target) {
  const std::set<std::string_view> plain{"hf", "accelerate", "fsdp", "ddp"};
  return plain.count(target.name) > 0 ? "plan: {tp: 1, cp: 1, pp: 1, ep: 1}\n" : "";
}

template <class T>
const T* Pick(const std::vector<T>& values, std::mt19937_64& random) {
  return values.empty() ? nullptr : &values[random() % values.size()];
}

// A legal plan, drawn from the space of all; with what a search does not try now and then.
inline std::optional<Plan> DrawLegal(const Problem& problem, const Space& space,
                                     std::mt19937_64& random) {
  const Sharding* sharding = Pick(space.Shardings(), random);
  if (sharding == nullptr) return std::nullopt;
  const std::vector<Placement> placements = space.Placements(*sharding);
  const Placement* placement = Pick(placements, random);
  if (placement == nullptr) return std::nullopt;
  const std::vector<Policy> policies = space.Policies(*sharding, *placement);
  const Policy* policy = Pick(policies, random);
  if (policy == nullptr) return std::nullopt;
  Plan plan{*sharding, *placement, *policy};
  if (random() % 4 == 0)
    plan.sharding.recompute = {
        .kind = RecomputeKind::kLayers, .modules = 0, .layers = {static_cast<int>(random() % 9)}};
  if (random() % 4 == 0)
    plan.sharding.recompute = {.kind = RecomputeKind::kModules,
                               .modules = static_cast<std::uint32_t>(1 + random() % 15),
                               .layers = {}};
  const bool legal = BrokenRules(problem.model, problem.machine, problem.training, plan).empty();
  return legal ? std::optional(plan) : std::nullopt;
}

// A job for the target; `seed` says of which model on which cluster.
inline Problem ProblemFor(const Chosen& chosen, std::uint64_t seed) {
  const Setting& at = kSettings[seed % std::size(kSettings)];
  const FrameworkId id = chosen.target->frameworks[seed % chosen.target->frameworks.size()];
  return ProblemOf("model: {preset: " + std::string(at.model) +
                   "}\ncluster: {preset: " + at.cluster + ", nodes: " + std::to_string(at.nodes) +
                   "}\ntrain: {framework: " + std::string(FrameworkOf(id).name) +
                   ", seq_length: " + std::to_string(at.sequence) +
                   ", global_batch_size: " + std::to_string(at.batch) + VersionOf(chosen) + "}\n" +
                   PlanSection(*chosen.target));
}

// A target's name as tests can have it: "megatron_0_18".
inline std::string TestName(std::string target) {
  for (char& c : target)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return target;
}

// Legal plans of `seeds` jobs at most, `draws` tries each, until body(problem, plan, seed, random)
// has taken `plans` of them, which it says with true; or until something failed.
template <class Body>
void ForPlans(const Chosen& chosen, int plans, std::uint64_t seeds, int draws, Body&& body) {
  int taken = 0;
  for (std::uint64_t seed = 0; taken < plans; ++seed) {
    ASSERT_LT(seed, seeds) << taken << " plans in all";
    const Problem problem = ProblemFor(chosen, seed);
    const Space space = SpaceOf(problem);
    std::mt19937_64 random(seed);
    for (int draw = 0; draw < draws && taken < plans; ++draw) {
      const std::optional<Plan> plan = DrawLegal(problem, space, random);
      if (plan && body(problem, *plan, seed, random)) ++taken;
      if (::testing::Test::HasFailure()) return;
    }
  }
}
}  // namespace shardplan::testing
