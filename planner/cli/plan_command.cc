// SPDX-License-Identifier: Apache-2.0
// plan SPEC: every plan that the spec allows, best first.
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>

#include "planner/cli/command.h"
#include "planner/cli/options.h"
#include "planner/report/plan_report.h"
#include "planner/search/hint.h"

namespace shardplan {
namespace {

struct Options {
  SpecOptions spec;
  Format format = Format::kText;
  int threads = 0;
  int keep = 0;  // 0: what the spec says
};

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may set it");

// The first interrupt ends the search and shows what it has; the second one ends the program.
void OnInterrupt(int) {
  interrupted = true;
  std::signal(SIGINT, SIG_DFL);
}

int RankPlans(const Options& options) {
  const Result<Problem> problem = ProblemOf(options.spec, Needs::kAll);
  if (!problem) return Complain(problem.error());
  const Job job = JobOf(*problem);
  SearchOptions search = problem->search;
  if (options.keep > 0) search.keep = options.keep;
  if (options.threads > 0) search.threads = options.threads;
  search.cancel = &interrupted;

  std::signal(SIGINT, OnInterrupt);
  const auto start = std::chrono::steady_clock::now();
  SearchResult result = Search(job, SpaceOf(*problem), search);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  NothingFits instead;
  if (result.plans.empty() && result.complete) {
    instead.hints = HintsFor(job, problem->wishes, search);
    instead.reasons =
        BrokenRules(problem->model, problem->machine, problem->training, FixedPlan(*problem));
  }
  const int code = !result.complete ? kInterrupted : result.plans.empty() ? kNothingFits : kDone;
  const Subject subject = SubjectOf(*problem);
  if (options.format == Format::kText)
    return Answer(PlanReport(subject, result, search, instead, LookOfOutput()), code);
  return Answer(SearchJson(subject, result, search, instead), options.format, code);
}
}  // namespace

std::function<int()> DeclarePlan(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  AddSpec(app, options->spec);
  AddFormat(app, options->format);
  AddWhole(app, "--keep", options->keep, 1, 10'000, "plans to show; default: search.keep, or 20");
  AddWhole(app, "--threads", options->threads, 1, 1024, "threads of the search; default: all");
  return [options] { return RankPlans(*options); };
}
}  // namespace shardplan
