// SPDX-License-Identifier: Apache-2.0
// model SPEC: parameters, FLOPs and state of a model, before any plan.
#include <memory>

#include "planner/cli/command.h"
#include "planner/cli/options.h"
#include "planner/report/model_report.h"

namespace shardplan {
namespace {

struct Options {
  SpecOptions spec;
  Format format = Format::kText;
};

int CountModel(const Options& options) {
  const Result<Problem> problem = ProblemOf(options.spec, Needs::kModel);
  if (!problem) return Complain(problem.error());
  const Subject subject = SubjectOf(*problem);
  if (options.format == Format::kText) return Answer(ModelReport(subject, LookOfOutput()));
  return Answer(ModelJson(subject), options.format);
}
}  // namespace

std::function<int()> DeclareModel(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  AddSpec(app, options->spec);
  AddFormat(app, options->format);
  return [options] { return CountModel(*options); };
}
}  // namespace shardplan
