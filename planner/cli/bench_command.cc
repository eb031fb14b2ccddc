// SPDX-License-Identifier: Apache-2.0
// bench: how fast the search is over fixed specs, and a signature of what it finds.
//
// A commit that changes a signature changes what users are told: it must say so, and why.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "planner/cli/command.h"
#include "planner/cli/options.h"
#include "planner/report/bench_report.h"
#include "planner/search/search.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> paths;
  Format format = Format::kText;
  int threads = 0;
  int repeat = 3;
};

std::vector<std::string> FixedSpecs() {
  std::vector<std::string> paths;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(ConfigDirectory()) / "specs", error))
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The shortest of some runs: what disturbs a run only makes it longer.
BenchRow Measure(const Problem& problem, std::string name, const Options& options) {
  const Job job = JobOf(problem);
  SearchOptions search = problem.search;
  search.threads = options.threads;
  BenchRow row{.spec = std::move(name), .gpus = problem.machine.Gpus(), .result = {}};
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < options.repeat; ++run) {
    const auto start = std::chrono::steady_clock::now();
    row.result = Search(job, SpaceOf(problem), search);
    const auto time = std::chrono::steady_clock::now() - start;
    best = std::min(best, std::chrono::duration<double>(time).count());
  }
  row.result.seconds = best;
  return row;
}

int Bench(const Options& options) {
  const std::vector<std::string> paths = options.paths.empty() ? FixedSpecs() : options.paths;
  if (paths.empty())
    return Complain(fmt::format("bench: no specs in {}/specs; name some: shardplan bench SPEC ...",
                                ConfigDirectory()),
                    kFailed);
  std::vector<BenchRow> rows;
  for (const std::string& path : paths) {
    const Result<Problem> problem = ReadProblem(path, {}, Needs::kAll);
    if (!problem) return Complain(problem.error());
    rows.push_back(Measure(*problem, fs::path(path).stem(), options));
  }
  if (options.format == Format::kText) return Answer(BenchReport(rows, LookOfOutput()));
  return Answer(BenchJson(rows), options.format);
}
}  // namespace

std::function<int()> DeclareBench(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("SPEC", options->paths, "specs to search; default: all of configs/specs")
      ->type_name("");
  AddFormat(app, options->format);
  AddWhole(app, "--threads", options->threads, 1, 1024, "threads of the search; default: all");
  AddWhole(app, "--repeat", options->repeat, 1, 1000,
           "runs of each, of which the shortest counts; default 3");
  return [options] { return Bench(*options); };
}
}  // namespace shardplan
