// SPDX-License-Identifier: Apache-2.0
// export SPEC: the files that start a plan.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>

#include "planner/cli/bundle_writer.h"
#include "planner/cli/command.h"
#include "planner/cli/options.h"
#include "planner/export/accepted.h"
#include "planner/export/export.h"
#include "planner/report/check_report.h"

namespace shardplan {
namespace {

struct Options {
  SpecOptions spec;
  std::string target, launcher = "torchrun", directory;
  int rank = 1;
  bool given = false, force = false;
};

// The problem as the target's framework poses it: rules, conventions and predictions are its own.
Result<Problem> ProblemFor(const Options& options, Chosen& chosen) {
  Result<Problem> problem = ProblemOf(options.spec, Needs::kAll);
  if (!problem) return problem;
  Result<Chosen> row = ChooseTarget(options.target, {});
  const bool versioned = options.target.find('@') != std::string::npos;
  if (!row) return tl::unexpected(row.error());
  const std::vector<FrameworkId>& takes = row->target->frameworks;
  const bool own =
      std::find(takes.begin(), takes.end(), problem->training.framework) != takes.end();
  // The versions of a target are those of its framework where both have one name.
  const bool namesake = FrameworkOf(takes.front()).name == row->target->name;
  if (own && namesake && !versioned)
    row = ChooseTarget(options.target, problem->training.framework_version);
  if (!row) return tl::unexpected(row.error());
  chosen = *row;
  SpecOptions spec = options.spec;
  if (!own) {
    const std::string_view name = FrameworkOf(takes.front()).name;
    Complain(fmt::format("note: the spec is for {}; planned for {}, which {} runs",
                         FrameworkOf(problem->training.framework).name, name, chosen.target->name),
             kDone);
    spec.sets.push_back(fmt::format("train.framework={}", name));
  }
  if (namesake) spec.sets.push_back(fmt::format("train.framework_version=\"{}\"", chosen.version));
  return ProblemOf(spec, Needs::kAll);
}

// The plan of a rank of `shardplan plan`, or the one that the spec fixes.
Result<Evaluation> Choose(const Options& options, const Problem& problem) {
  if (options.given) {
    const Plan plan = FixedPlan(problem);
    const std::vector<Reason> broken =
        BrokenRules(problem.model, problem.machine, problem.training, plan);
    if (broken.empty()) return Evaluate(JobOf(problem), plan);
    return Cannot(IllegalReport(SubjectOf(problem), plan, broken, {}));
  }
  const SearchResult result = SearchToRank(problem, options.rank);
  if (static_cast<int>(result.plans.size()) >= options.rank)
    return result.plans[static_cast<std::size_t>(options.rank - 1)].evaluation;
  return Cannot(result.plans.empty()
                    ? "no plan fits; `shardplan plan` says why and what would"
                    : fmt::format("there is no plan of rank {}: {} fit; --rank 1 to {} work",
                                  options.rank, result.plans.size(), result.plans.size()));
}

// Every key must be one that the target's sources declare.
Result<void> Verify(const Bundle& bundle) {
  for (const Settings& settings : bundle.settings) {
    const std::string path = fmt::format("{}/targets/{}.json", ConfigDirectory(), settings.table);
    std::ifstream file(path);
    const auto accepted = ParseAcceptedKeys({std::istreambuf_iterator<char>(file), {}});
    const std::vector<std::string> problems =
        accepted ? CheckSettings(settings, *accepted)
                 : std::vector<std::string>{fmt::format("{}: no table of flags", path)};
    if (!problems.empty())
      return tl::unexpected<Error>(
          Error{Code::kInternal, fmt::format("a fault of shardplan's, nothing was written: {}",
                                             fmt::join(problems, "; "))});
  }
  return {};
}

std::string Summary(const Options& options, const Chosen& chosen, const Evaluation& evaluation,
                    const Bundle& bundle) {
  std::string text =
      fmt::format("{}: {} {}, {}, step {}, {} of {}\n", options.directory, chosen.target->name,
                  chosen.version, Name(evaluation.verdict), FormatSeconds(evaluation.step.Time()),
                  FormatBytes(evaluation.peak_device), FormatBytes(evaluation.capacity));
  for (const File& file : bundle.files) text += fmt::format("  {}\n", file.path);
  for (const Loss& loss : bundle.losses)
    text += fmt::format("not expressed: {}; instead: {}\n", loss.what, loss.instead);
  return text;
}

int Export(const Options& options) {
  Chosen chosen;
  const Result<Problem> problem = ProblemFor(options, chosen);
  if (!problem) return Complain(problem.error());
  const Result<Evaluation> evaluation = Choose(options, *problem);
  if (!evaluation) return Refuse(evaluation.error());
  const Subject subject = SubjectOf(*problem);
  const ExportJob job{.subject = subject,
                      .shape = problem->shape,
                      .config = problem->model_keys,
                      .evaluation = *evaluation,
                      .origin = options.given
                                    ? "The plan that the spec fixes"
                                    : fmt::format("Rank {} of `shardplan plan`", options.rank)};
  const Result<Bundle> bundle = MakeBundle(job, chosen, *FindLauncher(options.launcher));
  if (!bundle) return Refuse(bundle.error());
  if (const Result<void> verified = Verify(*bundle); !verified) return Complain(verified.error());
  if (const Result<void> written = WriteBundle(*bundle, options.directory, options.force); !written)
    return Complain(written.error());
  return Answer(Summary(options, chosen, *evaluation, *bundle));
}

std::string TargetHelp() {
  std::string text;
  for (const Target& target : Targets())
    text += fmt::format("{}{}", text.empty() ? "" : ", ", target.name);
  return text;
}
}  // namespace

std::function<int()> DeclareExport(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  AddSpec(app, options->spec);
  app.add_option("--to", options->target, "what runs the plan: " + TargetHelp())
      ->type_name("TARGET[@VERSION]")
      ->required();
  app.add_option("--launcher", options->launcher, "what starts its nodes; default: torchrun")
      ->type_name("LAUNCHER")
      ->check(OneOf("launcher", LauncherNames()));
  app.add_option("-o,--output", options->directory, "the directory to write")
      ->type_name("DIRECTORY")
      ->required();
  AddWhole(app, "--rank", options->rank, 1, 10'000, "which plan of `shardplan plan`; default: 1");
  app.add_flag("--given", options->given, "the plan that the spec fixes, as `check` reads it");
  app.add_flag("--force", options->force, "replace a bundle that is there");
  return [options] { return Export(*options); };
}
}  // namespace shardplan
