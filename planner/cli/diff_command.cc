// SPDX-License-Identifier: Apache-2.0
// diff A B: what a better plan changes, in the framework's own settings.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "planner/base/text.h"
#include "planner/cli/command.h"
#include "planner/cli/import_files.h"
#include "planner/cli/options.h"
#include "planner/cli/plan_flags.h"
#include "planner/import/detect.h"
#include "planner/import/documents.h"
#include "planner/report/plan_diff.h"
#include "planner/spec/quantity_text.h"
#include "planner/spec/spec_text.h"
#include "planner/spec/writer.h"

namespace shardplan {
namespace {

struct Options {
  std::string before, after;
  ImportArguments import;  // --set and --define, of both sides
  Format format = Format::kText;
};

// "job.sh,ds.json#1": files of one job, and a rank of what `plan` finds for it.
struct Side {
  std::vector<std::string> paths;
  int rank = 0;  // 0: the plan that the files fix
};
Result<Side> SideOf(const std::string& text) {
  Side side;
  const std::size_t hash = text.rfind('#');
  if (hash != std::string::npos) {
    const auto rank = ParseWhole(text.substr(hash + 1));
    if (!rank || *rank < 1 || *rank > 1000)
      return Invalid(
          fmt::format("{}: '{}' is no rank\n  expected SPEC#1, the best plan, to SPEC#1000", text,
                      text.substr(hash + 1)));
    side.rank = static_cast<int>(*rank);
  }
  for (std::string& path : SplitAt(',', text.substr(0, hash)))
    if (!path.empty()) side.paths.push_back(std::move(path));
  if (side.paths.empty()) return Invalid(fmt::format("{}: names no file", text));
  return side;
}

struct Loaded {
  std::string name;
  Problem problem;
  std::vector<FlagValue> rest;
};

// The keys of a spec but the plan's and the search's.
std::vector<FlagValue> RestOf(v1::Spec spec) {
  spec.clear_plan();
  spec.clear_search();
  Draft draft({});
  SettingList keys(draft);
  AddYaml(Placed::File(PrintYaml(spec), 0), "spec", keys, draft);
  std::vector<FlagValue> rest;
  for (const Setting& key : keys.all())
    rest.push_back({key.name, fmt::format("{}", fmt::join(key.values, " "))});
  return rest;
}

// Of a rank the plan section is left out, so that all plans are searched. `speaks`: says what an
// import left.
Result<Loaded> Load(const Side& side, const Options& options, bool speaks) {
  Loaded loaded{.name = fmt::format("{}", fmt::join(side.paths, ","))};
  if (side.rank > 0) loaded.name += fmt::format("#{}", side.rank);
  const Result<SourcePtr> first = ReadSource(side.paths.front(), {});
  if (!first) return tl::unexpected(first.error());
  Result<Problem> problem = Invalid("");
  if (side.paths.size() == 1 && KindOf((*first)->text) == FileKind::kSpec) {
    problem = ReadProblem(side.paths.front(), options.import.sets, Needs::kAll);
    const Result<SpecText> text = ReadSpec(*first, "", options.import.sets);
    if (text) loaded.rest = RestOf(text->spec);
  } else {
    ImportArguments arguments = options.import;
    arguments.paths = side.paths;
    Result<Imported> imported = ImportFiles(arguments);
    if (!imported) return tl::unexpected(imported.error());
    const std::string remarks = speaks ? ImportedRemarks(*imported, false) : "";
    std::fwrite(remarks.data(), 1, remarks.size(), stderr);
    if (side.rank > 0) imported->spec.clear_plan();
    loaded.rest = RestOf(imported->spec);
    problem = ParseProblem(ImportedYaml(*imported), loaded.name, {}, Needs::kAll);
  }
  if (!problem) return tl::unexpected(problem.error());
  loaded.problem = std::move(*problem);
  return loaded;
}

Result<Plan> PlanOf(const Side& side, const Loaded& loaded) {
  if (side.rank == 0) return FixedPlan(loaded.problem);
  const SearchResult result = SearchToRank(loaded.problem, side.rank);
  if (static_cast<int>(result.plans.size()) >= side.rank)
    return result.plans[static_cast<std::size_t>(side.rank - 1)].evaluation.plan;
  return tl::unexpected<Error>(
      Error{Code::kFailedPrecondition, fmt::format("{}: there is no plan of rank {}: {} fit",
                                                   loaded.name, side.rank, result.plans.size())});
}

int Diff(const Options& options) {
  const Result<Side> before = SideOf(options.before);
  if (!before) return Complain(before.error());
  // Left out: the best plan for the same job.
  Result<Side> after = options.after.empty() ? before : SideOf(options.after);
  if (!after) return Complain(after.error());
  if (options.after.empty()) after->rank = 1;

  const Result<Loaded> a = Load(*before, options, true);
  if (!a) return Complain(a.error());
  const Result<Loaded> b = Load(*after, options, after->paths != before->paths);
  if (!b) return Complain(b.error());
  const Result<Plan> plan_a = PlanOf(*before, *a);
  if (!plan_a) return Refuse(plan_a.error());
  const Result<Plan> plan_b = PlanOf(*after, *b);
  if (!plan_b) return Refuse(plan_b.error());
  const Job job_a = JobOf(a->problem), job_b = JobOf(b->problem);
  const PlanDiff diff = DiffPlans({a->name, &job_a, *plan_a, a->rest},
                                  {b->name, &job_b, *plan_b, b->rest}, FlagsFor(b->problem));
  if (options.format == Format::kText) return Answer(DiffReport(diff, LookOfOutput()));
  return Answer(DiffJson(diff), options.format);
}
}  // namespace

std::function<int()> DeclareDiff(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("A", options->before,
                 "a spec, or files that import reads, joined by commas; #N: the plan of that rank")
      ->type_name("")
      ->required();
  app.add_option("B", options->after, "the same; left out: A#1, the best plan for A's job")
      ->type_name("");
  AddImportOptions(app, options->import);
  AddFormat(app, options->format);
  return [options] { return Diff(*options); };
}
}  // namespace shardplan
