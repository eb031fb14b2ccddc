// SPDX-License-Identifier: Apache-2.0
// Exports of real specs: a problem read from text, a plan of it, the bundle made of both.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>

#include "planner/export/accepted.h"
#include "planner/export/export.h"
#include "planner/framework/rules.h"
#include "planner/spec/problem.h"

namespace shardplan::testing {

inline std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline Problem ProblemOf(const std::string& spec, const std::vector<std::string>& sets = {}) {
  Result<Problem> problem = ParseProblem(spec, "spec.yaml", sets, Needs::kAll);
  EXPECT_TRUE(problem.has_value()) << (problem ? "" : problem.error().message);
  return problem ? std::move(*problem) : Problem{};
}

// The parts that an ExportJob refers to.
struct Exported {
  Problem problem;
  Subject subject;
  Evaluation evaluation;

  Exported(Problem&& read, const Plan& plan)
      : problem(std::move(read)),
        subject{.title = problem.title,
                .model = &problem.model,
                .machine = &problem.machine,
                .training = &problem.training,
                .memory_reserve = problem.memory_reserve,
                .notes = problem.notes,
                .spec_hash = "0123456789abcdef",
                .version = "0.1.0"},
        evaluation(Evaluate(JobOf(problem), plan)) {}
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;

  ExportJob Job() const {
    return {.subject = subject,
            .shape = problem.shape,
            .config = problem.model_keys,
            .evaluation = evaluation,
            .origin = "The plan that the spec fixes"};
  }
  Result<Bundle> To(const std::string& target, const std::string& launcher = "torchrun") const {
    return MakeBundle(Job(), *ChooseTarget(target, {}), *FindLauncher(launcher));
  }
};

// What the tables of configs/targets say against a bundle.
inline std::vector<std::string> ProblemsOf(const Bundle& bundle) {
  std::vector<std::string> problems;
  for (const Settings& settings : bundle.settings) {
    const auto accepted =
        ParseAcceptedKeys(TextOf(ConfigDirectory() + "/targets/" + settings.table + ".json"));
    if (!accepted) {
      problems.push_back("no table " + settings.table);
      continue;
    }
    for (std::string& problem : CheckSettings(settings, *accepted))
      problems.push_back(std::move(problem));
  }
  return problems;
}
}  // namespace shardplan::testing
