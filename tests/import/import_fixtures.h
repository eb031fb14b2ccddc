// SPDX-License-Identifier: Apache-2.0
// Imports of texts, and what check says of them.
#pragma once
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "planner/cost/cost.h"
#include "planner/framework/rules.h"
#include "planner/import/import.h"
#include "planner/spec/problem.h"
#include "planner/spec/writer.h"

namespace shardplan::testing {

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// One text under a name.
inline Result<Imported> ImportText(const std::string& name, const std::string& text,
                                   std::vector<std::string> sets = {},
                                   std::vector<std::string> defines = {}) {
  return Import({{name, text}}, {.sets = std::move(sets), .defines = std::move(defines)});
}

// The whole message of an import that fails.
inline std::string ImportError(const std::string& name, const std::string& text) {
  const Result<Imported> imported = ImportText(name, text);
  return imported ? "no error; spec:\n" + ImportedYaml(*imported) : imported.error().message;
}

// What `check` judges: the spec as it is printed, read back.
struct Judged {
  Problem problem;
  Plan plan;
  std::vector<Reason> broken;
  std::optional<Evaluation> evaluation;  // of a legal plan
};
inline Result<Judged> Judge(const std::string& yaml) {
  Result<Problem> problem = ParseProblem(yaml, "imported.yaml", {}, Needs::kAll);
  if (!problem) return tl::unexpected(problem.error());
  Judged judged{.problem = std::move(*problem)};
  const Problem& p = judged.problem;
  judged.plan = FixedPlan(p);
  judged.broken = BrokenRules(p.model, p.machine, p.training, judged.plan);
  if (judged.broken.empty()) judged.evaluation = Evaluate(JobOf(p), judged.plan);
  return judged;
}

// "text: why", of those that matter.
inline std::vector<std::string> ThatMatter(const Imported& imported) {
  std::vector<std::string> texts;
  for (const Leftover& leftover : imported.leftovers)
    if (leftover.matters) texts.push_back(leftover.text + ": " + leftover.why);
  return texts;
}
}  // namespace shardplan::testing
