// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "planner/base/build_config.h"
#include "planner/base/nearest.h"
#include "planner/spec/quantity_text.h"

namespace shardplan {
std::function<std::string(const std::string&)> OneOf(std::string what,
                                                     std::vector<std::string> words) {
  return
      [what = std::move(what), words = std::move(words)](const std::string& text) -> std::string {
        if (std::find(words.begin(), words.end(), text) != words.end()) return "";
        return fmt::format("there is no {} '{}': {}", what, text, Suggest(text, words, "it takes"));
      };
}

void AddFormat(CLI::App& app, Format& format) {
  app.add_option_function<std::string>(
         "-o,--output",
         [&format](const std::string& text) {
           format = text == "json" ? Format::kJson : text == "yaml" ? Format::kYaml : Format::kText;
         },
         "text (default), json or yaml")
      ->type_name("FORMAT")
      ->check(OneOf("format", {"text", "json", "yaml"}));
}

void AddSpec(CLI::App& app, SpecOptions& options) {
  app.add_option("SPEC", options.path, "the spec, a YAML or JSON file; - is standard input")
      ->type_name("")
      ->required();
  app.add_option("--set", options.sets, "override a key of the spec, as in plan.tp=4; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

Result<Problem> ProblemOf(const SpecOptions& options, Needs needs) {
  return ReadProblem(options.path, options.sets, needs);
}

CLI::Option* AddWhole(CLI::App& app, const std::string& name, int& value, int least, int most,
                      const std::string& help) {
  return app
      .add_option_function<std::string>(
          name, [&value](const std::string& text) { value = static_cast<int>(*ParseWhole(text)); },
          help)
      ->type_name("N")
      ->check([least, most](const std::string& text) -> std::string {
        const auto number = ParseWhole(text);
        if (number && *number >= least && *number <= most) return "";
        return fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
      });
}

Subject SubjectOf(const Problem& problem) {
  return {.title = problem.title,
          .model = &problem.model,
          .machine = &problem.machine,
          .training = &problem.training,
          .memory_reserve = problem.memory_reserve,
          .notes = problem.notes,
          .spec_hash = problem.spec_hash,
          .version = kVersion};
}

SearchResult SearchToRank(const Problem& problem, int rank) {
  SearchOptions search = problem.search;
  search.keep = std::max(search.keep, rank);
  return Search(JobOf(problem), SpaceOf(problem), search);
}
}  // namespace shardplan
