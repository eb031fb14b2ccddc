// SPDX-License-Identifier: Apache-2.0
// probe profile SPEC -o FILE: measures what the best plans of a spec ask of this machine.
#include "planner/cli/profile_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "planner/cli/launcher.h"
#include "planner/cost/demand.h"
#include "planner/report/collectives_report.h"
#include "planner/search/search.h"
#include "planner/spec/catalogue.h"
#include "planner/spec/profile_reader.h"

namespace shardplan {
namespace {

using Clock = std::chrono::steady_clock;

// A point to measure, with the time that steps spend in what it tells of.
struct Point {  // NOLINT(bugprone-exception-escape): JSON moves without throwing
  std::string probe;
  Json params;
  double weight = 0;
};

const char* NameOf(Number number) {
  switch (number) {
    case Number::kFp32:
      return "fp32";
    case Number::kTf32:
      return "tf32";
    case Number::kFp16:
      return "fp16";
    case Number::kBf16:
      return "bf16";
    case Number::kFp8:
      return "fp8";
    case Number::kFp4:
      return "fp4";
  }
  return "";
}

// What is asked for, each point once, the weights of all plans added up.
class Points {
 public:
  void Add(const Demand& demand) {
    for (const Demand::Gemm& gemm : demand.gemms) {
      Json params{{"m", WholeNumber(gemm.m)},
                  {"n", WholeNumber(gemm.n)},
                  {"k", WholeNumber(gemm.k)},
                  {"dtype", NameOf(gemm.number)}};
      if (gemm.batch > 1) params["batch"] = WholeNumber(gemm.batch);
      if (gemm.pass == Demand::Pass::kInput) params["pass"] = "input";
      if (gemm.pass == Demand::Pass::kWeight) params["pass"] = "weight";
      Add("gemm", std::move(params), gemm.step);
    }
    for (const Demand::Attention& one : demand.attentions)
      for (const char* pass : {"forward", "backward"})
        Add("attention",
            {{"batch", WholeNumber(one.batch)},
             {"heads", WholeNumber(one.heads)},
             {"kv_heads", WholeNumber(one.kv_heads)},
             {"seq", WholeNumber(one.seq)},
             {"head_dim", WholeNumber(one.head_dim)},
             {"causal", true},
             {"pass", pass},
             {"dtype", NameOf(one.number)}},
            one.step);
    for (const Demand::Traffic& traffic : demand.traffic) Add(traffic);
  }
  // How memory streams, which all the rest of a step lives by.
  void AddStreams(Seconds weight) {
    for (const int mebibytes : {16, 64, 256, 1024})
      Add("copy", {{"kind", "device"}, {"bytes", std::int64_t{mebibytes} << 20}}, weight);
  }
  // Most telling first.
  std::vector<Point> Take() const {
    std::vector<Point> sorted;
    for (const auto& [key, point] : points_) sorted.push_back(point);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Point& a, const Point& b) { return a.weight > b.weight; });
    return sorted;
  }

 private:
  void Add(const std::string& probe, Json params, Seconds weight) {
    Point& point = points_[probe + params.dump()];
    point = {probe, std::move(params), point.weight + weight.value};
  }

  // The largest message and powers of four below it: between them times are nearly linear.
  void Add(const Demand::Traffic& traffic) {
    const double granule = 16.0 * traffic.group.ranks;  // divides evenly in any format
    const auto rounded = [granule](double bytes) {
      return WholeNumber(std::max(1.0, std::ceil(bytes / granule)) * granule);
    };
    const double power = std::exp2(std::ceil(std::log2(std::max(traffic.bytes.value, 65536.0))));
    double weight = traffic.step.value;
    for (double bytes = power; bytes >= 65536 && bytes > power / 1000; bytes /= 4, weight /= 2)
      Add("collectives",
          {{"op", Name(traffic.op)},
           {"ranks", traffic.group.ranks},
           {"stride", traffic.group.stride},
           {"bytes", rounded(bytes)},
           {"dtype", "bf16"},
           {"in_place", false}},
          {weight});
  }

  std::map<std::string, Point> points_;
};

// Groups larger than this machine have to be measured elsewhere.
bool FitsHere(const Point& point, int processes) {
  if (point.probe != "collectives") return true;
  const int span = point.params["ranks"].get<int>() * point.params["stride"].get<int>();
  return processes % span == 0;
}

// The points that a file of records already has.
Result<std::set<std::string>> DoneIn(const std::string& path) {
  std::set<std::string> done;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return done;
  const Result<SourcePtr> source = ReadSource(path, {});
  if (!source) return tl::unexpected(source.error());
  const Result<std::vector<Json>> records = ReadRecords(*source);
  if (!records) return tl::unexpected(records.error());
  for (const Json& record : *records)
    done.insert(record["probe"].get<std::string>() + record["params"].dump());
  return done;
}

// Says how far a run is, on one line of standard error.
class Progress {
 public:
  explicit Progress(std::size_t points) : points_(points) {}
  void Tell(const Json& record) {
    ++done_;
    const double spent = std::chrono::duration<double>(Clock::now() - begin_).count();
    const double left = spent / static_cast<double>(done_) *
                        static_cast<double>(points_ - std::min(done_, points_));
    std::fputs(
        fmt::format("{}/{} measured, about {} left: {} {}\n", done_, points_, FormatSeconds({left}),
                    record.value("probe", ""), record["params"].dump())
            .c_str(),
        stderr);
  }

 private:
  std::size_t points_, done_ = 0;
  Clock::time_point begin_ = Clock::now();
};

// One start of ranks for `points`; their records are appended to `out` as they come.
Result<int> Measure(const ProfileOptions& options, const std::vector<Point>& points, int processes,
                    std::ofstream& out, Progress& progress) {
  if (points.empty()) return kDone;
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("shardplan-points-{}.jsonl", getpid());
  {
    std::ofstream file(path);
    for (const Point& point : points)
      file << Json{{"probe", point.probe}, {"params", point.params}}.dump() << "\n";
    if (!file.flush())
      return tl::unexpected(
          Error{Code::kInternal, fmt::format("shardplan: {} cannot be written", path.string())});
  }
  // As within a step, whose kernels leave the GPU no time to cool: at the clocks that last.
  Launch launch{.processes = processes,
                .arguments = {"points", path.string(), "--warm-up-time", "0.1"}};
  launch.share_gpu = options.share_gpu;
  launch.arguments.insert(launch.arguments.end(), options.rest.begin(), options.rest.end());
  Result<int> code = RunRanks(launch, [&](const std::string& line) {
    const Json record = Json::parse(line, nullptr, false);
    if (!record.is_object() || !record.contains("params")) return;
    out << line << "\n" << std::flush;
    progress.Tell(record);
  });
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return code;
}
}  // namespace

int Profile(const ProfileOptions& options) {
  const Result<Problem> problem = ProblemOf(options.spec, Needs::kAll);
  if (!problem) return Complain(problem.error());
  const Job job = JobOf(*problem);
  const SearchResult result = Search(job, SpaceOf(*problem), problem->search);
  if (result.plans.empty())
    return Complain(
        "probe profile: no plan fits, so none says what to measure; shardplan plan shows "
        "why",
        kNothingFits);
  const Result<std::set<std::string>> done = DoneIn(options.output);
  if (!done) return Complain(done.error());

  Points points;
  for (const Ranked& ranked : result.plans) points.Add(DemandOf(job, ranked.evaluation.plan));
  points.AddStreams(result.plans.front().evaluation.step.Time());
  // Kernels need one rank; each kind of start costs its own.
  std::vector<Point> kernels, traffic;
  std::size_t elsewhere = 0, known = 0;
  for (Point& point : points.Take()) {
    if (done->count(point.probe + point.params.dump()) > 0)
      ++known;
    else if (!FitsHere(point, options.processes))
      ++elsewhere;
    else
      (point.probe == "collectives" ? traffic : kernels).push_back(std::move(point));
  }
  std::fputs(
      fmt::format("{} plans ask for {} points: {} known, {} of larger groups than {} ranks\n",
                  result.plans.size(), known + elsewhere + kernels.size() + traffic.size(), known,
                  elsewhere, options.processes)
          .c_str(),
      stderr);
  std::ofstream out(options.output, std::ios::app);
  if (!out) return Complain(fmt::format("{} cannot be written", options.output), kFailed);
  Progress progress(kernels.size() + traffic.size());
  for (const auto& [list, processes] :
       {std::pair(&kernels, 1), std::pair(&traffic, options.processes)}) {
    const Result<int> code = Measure(options, *list, processes, out, progress);
    if (!code) return Complain(code.error());
    if (*code != kDone) return *code;
  }
  return kDone;
}
}  // namespace shardplan
