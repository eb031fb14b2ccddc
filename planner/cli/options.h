// SPDX-License-Identifier: Apache-2.0
// Options that several commands share, and checks of their values.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "planner/cli/output.h"
#include "planner/report/subject.h"
#include "planner/spec/problem.h"

namespace shardplan {

// A check of an option that takes one of `words`; `what` is one of them: "format".
std::function<std::string(const std::string&)> OneOf(std::string what,
                                                     std::vector<std::string> words);

// -o text|json|yaml
void AddFormat(CLI::App& app, Format& format);

// SPEC and --set
struct SpecOptions {
  std::string path;
  std::vector<std::string> sets;
};
void AddSpec(CLI::App& app, SpecOptions& options);
Result<Problem> ProblemOf(const SpecOptions& options, Needs needs);

// A whole number within a range.
CLI::Option* AddWhole(CLI::App& app, const std::string& name, int& value, int least, int most,
                      const std::string& help);

Subject SubjectOf(const Problem& problem);

// The best plans, down to `rank` at least where so many fit.
SearchResult SearchToRank(const Problem& problem, int rank);
}  // namespace shardplan
