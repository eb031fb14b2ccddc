// SPDX-License-Identifier: Apache-2.0
// check SPEC: the one plan that the spec fixes.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "planner/cli/command.h"
#include "planner/cli/options.h"
#include "planner/report/check_report.h"
#include "planner/search/hint.h"

namespace shardplan {
namespace {

struct Options {
  SpecOptions spec;
  Format format = Format::kText;
};

// The first key of the plan that lists several candidates; null: each is fixed or left out.
const char* KeyWithCandidates(const Wishes& w) {
  const std::pair<const char*, std::size_t> sizes[] = {
      {"tp", w.tp.size()},
      {"pp", w.pp.size()},
      {"vpp", w.vpp.size()},
      {"cp", w.cp.size()},
      {"cp_kind", w.cp_kind.size()},
      {"ep", w.ep.size()},
      {"etp", w.etp.size()},
      {"dp", w.dp.size()},
      {"sp", w.sp.size()},
      {"zero_stage", w.zero_stage.size()},
      {"zero_group", w.zero_group.size()},
      {"micro_batch_size", w.micro_batch_size.size()},
      {"schedule", w.schedule.size()},
      {"stage_layers", w.stage_layers.size()},
      {"recompute", w.recompute.size()},
      {"offload", w.offload.size()},
      {"offload_to", w.offload_to.size()},
  };
  for (const auto& [key, size] : sizes)
    if (size > 1) return key;
  return nullptr;
}

int CheckPlan(const Options& options) {
  const Result<Problem> problem = ProblemOf(options.spec, Needs::kAll);
  if (!problem) return Complain(problem.error());
  if (const char* key = KeyWithCandidates(problem->wishes))
    return Complain(
        Error{Code::kInvalidArgument,
              fmt::format("plan.{} lists several candidates, and check judges one plan: "
                          "fix it (--set plan.{}=...), or let `shardplan plan` choose",
                          key, key)});
  const auto& [model, machine, training] =
      std::tie(problem->model, problem->machine, problem->training);
  const Subject subject = SubjectOf(*problem);
  const bool text = options.format == Format::kText;
  const Plan plan = FixedPlan(*problem);
  const std::vector<Reason> broken = BrokenRules(model, machine, training, plan);
  if (!broken.empty())
    return text ? Answer(IllegalReport(subject, plan, broken, LookOfOutput()), kNothingFits)
                : Answer(IllegalJson(subject, plan, broken), options.format, kNothingFits);

  const Job job = JobOf(*problem);
  const Evaluation evaluation = Evaluate(job, plan);
  const bool fits = evaluation.verdict != Verdict::kOom;
  const std::vector<Hint> hints = fits ? std::vector<Hint>{} : HintsFor(job, plan, problem->search);
  const int code = fits ? kDone : kNothingFits;
  return text ? Answer(CheckReport(subject, evaluation, hints, LookOfOutput()), code)
              : Answer(CheckJson(subject, evaluation, hints), options.format, code);
}
}  // namespace

std::function<int()> DeclareCheck(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  AddSpec(app, options->spec);
  AddFormat(app, options->format);
  return [options] { return CheckPlan(*options); };
}
}  // namespace shardplan
