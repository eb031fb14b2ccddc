// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/plan_flags.h"

#include <algorithm>

#include "planner/cli/options.h"
#include "planner/export/export.h"

namespace shardplan {
namespace {

// What the target's script sets; the plan's keys where it cannot run the plan.
std::vector<FlagValue> FlagsOfScript(const Problem& problem, const Chosen& chosen,
                                     const Evaluation& evaluation) {
  const Subject subject = SubjectOf(problem);
  const ExportJob job{.subject = subject,
                      .shape = problem.shape,
                      .config = problem.model_keys,
                      .evaluation = evaluation,
                      .origin = ""};
  const Result<Script> script = chosen.target->write(job, chosen.version);
  if (!script) return KeysOfPlan(evaluation);
  std::vector<FlagValue> flags;
  for (const Settings& settings : script->settings)
    for (const auto& [key, value] : settings.list) {
      const bool mere = value.is_boolean() && value.get<bool>();
      flags.push_back({key, mere                ? ""
                            : value.is_string() ? value.get<std::string>()
                                                : value.dump()});
    }
  return flags.empty() ? KeysOfPlan(evaluation) : flags;
}
}  // namespace

FlagsOf FlagsFor(const Problem& problem) {
  const std::vector<Target>& targets = Targets();
  const auto target = std::find_if(targets.begin(), targets.end(), [&](const Target& row) {
    return row.frameworks.front() == problem.training.framework;
  });
  if (target == targets.end()) return KeysOfPlan;
  Result<Chosen> chosen = ChooseTarget(target->name, problem.training.framework_version);
  if (!chosen) chosen = ChooseTarget(target->name, "");
  if (!chosen) return KeysOfPlan;
  return [&problem, row = *chosen](const Evaluation& evaluation) {
    return FlagsOfScript(problem, row, evaluation);
  };
}
}  // namespace shardplan
