// SPDX-License-Identifier: Apache-2.0
#include "probe/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <fstream>
#include <iostream>

#include "planner/base/nearest.h"
#include "probe/monitor.h"
#include "probe/probes.h"

namespace shardplan::probe {
namespace {

constexpr int kDone = 0, kFailed = 1, kUsage = 2, kInterrupted = 130;

struct Options {
  std::string device{DefaultDevice()};
  int gpu = -1;  // LOCAL_RANK's
  std::uint64_t seed = 1;
  MeasureOptions measure;
  Limits limits;
};

int Complain(std::string_view message, int code) {
  std::fputs(fmt::format("shardplan-probe: {}\n", message).c_str(), stderr);
  return code;
}

int CodeOf(const Error& error) {
  return error.code == Code::kInvalidArgument ? kUsage
         : error.code == Code::kCancelled     ? kInterrupted
                                              : kFailed;
}

void AddCommon(CLI::App& app, Options& options) {
  app.add_option("--device", options.device, "cuda or host; default: cuda where a GPU is seen")
      ->type_name("KIND");
  app.add_option("--gpu", options.gpu, "number of the GPU; default: LOCAL_RANK, else 0")
      ->type_name("N");
  app.add_option("--seed", options.seed, "of the data; default 1")->type_name("N");
  StoppingRule& rule = options.measure.rule;
  app.add_option("--relative-error", rule.relative_error,
                 "stop once the median is known this well; default 0.02")
      ->type_name("SHARE");
  app.add_option("--time-limit", rule.time_limit.value, "seconds of samples a point; default 2")
      ->type_name("SECONDS");
  app.add_option("--min-samples", rule.min_samples, "default 5")->type_name("N");
  app.add_option("--max-samples", rule.max_samples, "default 200")->type_name("N");
  app.add_option("--warm-up", options.measure.warm_up, "runs before the first sample; default 2")
      ->type_name("N");
  app.add_option("--warm-up-time", options.measure.warm_up_time.value,
                 "and so long: clocks settle under the work's own power; default 0")
      ->type_name("SECONDS");
}

void AddLimits(CLI::App& app, Limits& limits) {
  const auto add = [&app](const char* name, Seconds& limit, const char* help) {
    app.add_option(name, limit.value, help)->type_name("SECONDS")->check(CLI::PositiveNumber);
  };
  add("--deadline", limits.deadline, "end the run after this long; default: never");
  add("--join-timeout", limits.join, "until all ranks are there; default 60");
  add("--silence-timeout", limits.silence, "a rank not heard of for longer hangs; default 10");
  add("--operation-timeout", limits.operation, "no step takes longer; default 120");
}

// One point and its probe.
struct Task {
  const Probe* probe = nullptr;
  Json point;
};

// The points of a file, {"probe": NAME, "params": {...}} a line.
Result<std::vector<Task>> ReadPoints(const std::string& path) {
  std::ifstream file(path);
  if (!file) return NotFound(fmt::format("{} cannot be read", path));
  std::vector<Task> tasks;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const Json json = Json::parse(line, nullptr, false);
    const bool whole = json.is_object() && json.contains("probe") && json["probe"].is_string() &&
                       json.contains("params");
    const Probe* probe = whole ? FindProbe(json["probe"].get<std::string>()) : nullptr;
    if (probe == nullptr)
      return Invalid(
          fmt::format("{}:{}: expected {{\"probe\": NAME, \"params\": {{...}}}} with a "
                      "NAME that shardplan-probe --help lists",
                      path, number));
    tasks.push_back({probe, json["params"]});
  }
  return tasks;
}

// The failed allocation and the allocator's state, as a record of its own.
void AddOutOfMemory(Session& session, const Probe& probe, const Json& point, const Error& error) {
  const MemoryState memory = session.device.Memory();
  Record record{
      .probe = std::string(probe.name),
      .params = point,
      .metric = "failed_allocation",
      .unit = "B",
      .more = {
          {"error", error.message},
          {"memory", {{"free", memory.free}, {"total", memory.total}, {"ours", memory.ours}}}}};
  const auto bytes = static_cast<double>(memory.refused);
  record.summary = {bytes, bytes, bytes, 1, 0, Stop::kGoOn};
  session.records.AddOwn(record);
}

// One point. Out of memory ends the point, not the run.
Result<void> MeasureOne(Session& session, const Probe& probe, const Json& point) {
  Result<void> done = probe.measure(session, point);
  if (done || done.error().code != Code::kResourceExhausted) return done;
  AddOutOfMemory(session, probe, point, done.error());
  return {};
}

// `all`: a point that the device or its probe lacks does not end the run.
Result<void> MeasureAll(World& world, Watch& watch, const Options& options,
                        const std::vector<Task>& tasks, bool all, long& wrong) {
  const int gpu = options.gpu >= 0 ? options.gpu : world.seat().local_rank;
  watch.Begin("opening the device");
  const Result<std::unique_ptr<Device>> device = OpenDevice(options.device, gpu, watch);
  if (!device) return tl::unexpected(device.error());
  const Result<std::unique_ptr<Stream>> stream = (*device)->MakeStream();
  if (!stream) return tl::unexpected(stream.error());
  Records records((*device)->info(), world.rank() == 0);
  Session session{**device, world, watch, records, **stream, options.measure, options.seed, {}};
  for (const Task& task : tasks) {
    Result<void> done = MeasureOne(session, *task.probe, task.point);
    if (done) continue;
    const bool of_point = done.error().code == Code::kFailedPrecondition ||
                          done.error().code == Code::kInvalidArgument;
    if (!all || !of_point) return done;
    Complain(done.error().message, kDone);
  }
  watch.Begin("leaving");
  if (Result<void> left = world.Barrier(); !left) return left;
  wrong = records.wrong();
  if (!records.written())
    return tl::unexpected(Error{Code::kInternal, "standard output cannot be written"});
  return {};
}

int Run(const Options& options, const std::vector<Task>& tasks, bool all) {
  Watch watch;
  const auto complain = [](const Error& error) { return Complain(error.message, CodeOf(error)); };
  const Result<Seat> seat = SeatOfEnvironment();
  if (!seat) return complain(seat.error());
  const Result<std::unique_ptr<World>> world = World::Join(*seat, options.limits, watch);
  if (!world) return complain(world.error());
  const auto monitor = Monitor::Start(world->get(), options.limits, watch);
  if (!monitor) return complain(monitor.error());
  long wrong = 0;
  const Result<void> done = MeasureAll(**world, watch, options, tasks, all, wrong);
  if (!done) return complain((*monitor)->Explain(done.error()));
  return wrong == 0 ? kDone : Complain(fmt::format("{} elements were wrong", wrong), kFailed);
}

std::string Help() {
  std::string text = "usage: shardplan-probe PROBE [--option=value ...]\n";
  for (const Probe& probe : Probes())
    text += fmt::format("  {:<14} {}\n", probe.name, probe.summary);
  return text +
         "  points         the points of a file, {\"probe\": NAME, \"params\": {...}} a line\n"
         "Measures this machine; records (JSON lines) go to standard output.\n"
         "All options of a probe: shardplan-probe PROBE --help\n"
         "Exit codes: 0 done, 1 failed or wrong results, 2 bad usage, 130 interrupted\n";
}
}  // namespace

int RunCommandLine(int argc, const char* const* argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string word = argc > 1 ? argv[1] : "";
  if (word.empty() || word == "--help" || word == "-h") {
    std::fputs(Help().c_str(), word.empty() ? stderr : stdout);
    return word.empty() ? kUsage : kDone;
  }
  const Probe* probe = FindProbe(word);
  const bool reads_points = word == "points";
  if (probe == nullptr && !reads_points) {
    std::vector<std::string> names{"points"};
    for (const Probe& row : Probes()) names.emplace_back(row.name);
    return Complain(
        fmt::format("there is no probe '{}': {}", word, Suggest(word, names, "it takes")), kUsage);
  }
  Options options;
  std::string path;
  CLI::App app(probe != nullptr ? std::string(probe->summary) : "points of a file", word);
  app.set_help_flag("-h,--help", "this text");
  AddCommon(app, options);
  AddLimits(app, options.limits);
  std::function<std::vector<Json>()> points;
  if (reads_points)
    app.add_option("FILE", path, "points, one a line")->type_name("")->required();
  else
    points = probe->declare(app);
  try {
    app.parse(argc - 1, argv + 1);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help("shardplan-probe").c_str(), stdout);
    return kDone;
  } catch (const CLI::ParseError& error) {
    return Complain(fmt::format("{}: {}; shardplan-probe {} --help shows all options", word,
                                error.what(), word),
                    kUsage);
  }
  Result<std::vector<Task>> tasks = std::vector<Task>();
  if (reads_points)
    tasks = ReadPoints(path);
  else
    for (const Json& point : points()) tasks->push_back({probe, point});
  if (!tasks) return Complain(tasks.error().message, kUsage);
  return Run(options, *tasks, reads_points);
}
}  // namespace shardplan::probe
