// SPDX-License-Identifier: Apache-2.0
// probe NAME [OPTION ...]: runs a probe on this machine, one process a rank, and shows its records.
#include <fmt/format.h>

#include <memory>

#include "planner/cli/command.h"
#include "planner/cli/launcher.h"
#include "planner/cli/options.h"
#include "planner/cli/profile_command.h"
#include "planner/report/probe_report.h"

namespace shardplan {
namespace {

struct Options {
  std::string probe;
  Launch launch;
  int deadline = 0;
  Format format = Format::kText;
  bool help = false;
  ProfileOptions profile;
};

int Probe(const Options& options, const std::vector<std::string>& rest) {
  Launch launch = options.launch;
  launch.arguments = {options.probe};
  launch.arguments.insert(launch.arguments.end(), rest.begin(), rest.end());
  if (options.deadline > 0) {
    launch.deadline = {static_cast<double>(options.deadline)};
    launch.arguments.push_back(fmt::format("--deadline={}", options.deadline));
  }
  std::vector<Json> records;
  int written = kDone;
  const Result<int> code = RunRanks(launch, [&](const std::string& line) {
    // JSON lines are handed on as they come, so that nothing is lost whatever happens later.
    if (options.format == Format::kJson) {
      if (written == kDone) written = Answer(line + "\n");
      return;
    }
    Json record = Json::parse(line, nullptr, false);
    if (record.is_discarded())
      Complain("not a record: " + line, kFailed);
    else
      records.push_back(std::move(record));
  });
  if (!code) return Complain(code.error());
  if (options.format == Format::kText) written = Answer(ProbeReport(records, LookOfOutput()));
  if (options.format == Format::kYaml) written = Answer(Json(records), Format::kYaml);
  return *code != kDone ? *code : written;
}

int Help(const CLI::App& app, const Options& options) {
  if (options.probe.empty()) return Answer(app.help("shardplan"));
  Launch launch;
  launch.arguments = {options.probe, "--help"};
  std::string text;
  const Result<int> code = RunRanks(launch, [&](const std::string& line) { text += line + "\n"; });
  if (!code) return Complain(code.error());
  return *code != kDone ? *code : Answer(text);
}
}  // namespace

namespace {
CLI::App* DeclareProfile(CLI::App& app, Options& options) {
  CLI::App* profile =
      app.add_subcommand("profile", "measure what the best plans of a SPEC ask of this machine");
  profile->set_help_flag("-h,--help", "this text");
  AddSpec(*profile, options.profile.spec);
  profile
      ->add_option("-o,--output", options.profile.output,
                   "records are added to it; what it has is kept")
      ->type_name("FILE")
      ->required();
  AddWhole(*profile, "--processes", options.profile.processes, 1, 1024,
           "ranks to start on this machine; default 1");
  profile->add_flag("--share-gpu", options.profile.share_gpu, "all ranks on one GPU");
  profile->allow_extras();
  return profile;
}
}  // namespace

std::function<int()> DeclareProbe(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.set_help_flag();
  app.add_flag("-h,--help", options->help, "this text; with NAME, the options of that probe");
  app.add_option("NAME", options->probe,
                 "collectives, gemm, ... (shardplan-probe --help lists them), its options follow")
      ->type_name("");
  AddWhole(app, "--processes", options->launch.processes, 1, 1024,
           "ranks to start on this machine; default 1");
  app.add_flag("--share-gpu", options->launch.share_gpu,
               "all ranks on one GPU: shows that NCCL works, not how fast");
  AddWhole(app, "--deadline", options->deadline, 1, 1 << 30,
           "seconds after which all ranks are ended; default: none");
  AddFormat(app, options->format);
  app.allow_extras();
  CLI::App* profile = DeclareProfile(app, *options);
  return [options, &app, profile] {
    if (profile->parsed()) {
      options->profile.rest = profile->remaining();
      return Profile(options->profile);
    }
    if (options->help) return Help(app, *options);
    if (options->probe.empty())
      return Complain("probe: NAME is missing; shardplan probe --help shows how", kUsage);
    return Probe(*options, app.remaining());
  };
}
}  // namespace shardplan
