// SPDX-License-Identifier: Apache-2.0
// collectives/machines.yaml and collectives/points.csv, and the folder as a whole.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "planner/report/collectives_report.h"
#include "planner/spec/catalogue.h"
#include "planner/spec/free_value.h"
#include "planner/spec/reader.h"
#include "tests/evidence/csv.h"
#include "tests/evidence/evidence.h"
#include "tests/evidence/evidence.pb.h"

namespace shardplan::evidence {
namespace {

namespace fs = std::filesystem;

// The columns of points.csv. What NCCL chose, where stated, is for readers.
struct PointColumns {
  std::size_t machine = 0, op = 0, bytes = 0, time = 0, bus_bandwidth = 0;
};

Result<PointColumns> ColumnsOf(const Csv& csv) {
  PointColumns columns;
  const std::pair<const char*, std::size_t*> wanted[] = {{"machine", &columns.machine},
                                                         {"op", &columns.op},
                                                         {"bytes", &columns.bytes},
                                                         {"time_us", &columns.time},
                                                         {"busbw_gbs", &columns.bus_bandwidth}};
  for (const auto& [name, column] : wanted) {
    const Result<std::size_t> found = csv.Column(name);
    if (!found) return tl::unexpected(found.error());
    *column = *found;
  }
  return columns;
}

Result<Point> PointOf(const Csv& csv, std::size_t line, const PointColumns& columns,
                      const std::vector<Testbed>& testbeds) {
  const std::string& machine = csv.Text(line, columns.machine);
  const auto testbed = std::find_if(testbeds.begin(), testbeds.end(),
                                    [&](const Testbed& t) { return t.name == machine; });
  if (testbed == testbeds.end())
    return csv.Fail(line, columns.machine, "no such machine", "machines.yaml names them");
  const std::optional<Collective> op = CollectiveOf(csv.Text(line, columns.op));
  if (!op) return csv.Fail(line, columns.op, "no such collective", "all_reduce, all_gather, ...");
  const Result<std::optional<double>> bytes = csv.Positive(line, columns.bytes),
                                      time = csv.Positive(line, columns.time),
                                      rate = csv.Positive(line, columns.bus_bandwidth);
  for (const auto* cell : {&bytes, &time, &rate})
    if (!*cell) return tl::unexpected(cell->error());
  if (!*bytes) return csv.Fail(line, columns.bytes, "empty", "expected the size in bytes");
  Point point{.id = fmt::format("{}/{}/{}", machine, Name(*op), csv.Text(line, columns.bytes)),
              .testbed = static_cast<std::size_t>(testbed - testbeds.begin()),
              .op = *op,
              .bytes = {**bytes}};
  if (*time) point.time = Seconds{**time * 1e-6};
  if (*rate) point.bus_bandwidth = BytesPerSecond{**rate * 1e9};
  return point;
}

// YAML files of a folder, by name.
std::vector<std::string> FilesIn(const fs::path& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".yaml") paths.push_back(it->path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

template <class Item>
Result<void> CheckUnique(const std::vector<Item>& items) {
  std::set<std::string> ids;
  for (const Item& item : items)
    if (!ids.insert(item.id).second)
      return Invalid(fmt::format("{}: two rows of the evidence have this id", item.id));
  return {};
}
}  // namespace

Result<void> ReadTestbeds(const std::string& path, Evidence* evidence) {
  const Result<SourcePtr> source = ReadSource(path, {});
  if (!source) return tl::unexpected(source.error());
  file::Machines machines;
  SourceMap map;
  if (Result<void> done = ReadMessage(*source, &machines, &map); !done) return done;
  for (int i = 0; i < machines.machines_size(); ++i) {
    const file::Machine& from = machines.machines(i);
    const std::string key_path = fmt::format("machines[{}]", i);
    if (!from.has_name() || !from.has_what() || !from.has_source())
      return InvalidAt(map.ValueOrParent(key_path), key_path, "needs name, what and source",
                       "what: the machine in the source's words");
    if (from.has_cluster() == from.has_not_covered())
      return InvalidAt(map.ValueOrParent(key_path), key_path, "needs either cluster or not_covered",
                       "not_covered says why the planner cannot be asked");
    evidence->testbeds.push_back({.name = from.name(),
                                  .what = from.what(),
                                  .source = from.source(),
                                  .url = from.url(),
                                  .cluster = JsonOf(from.cluster().keys()),
                                  .not_covered = from.not_covered()});
  }
  return {};
}

Result<void> ReadPoints(const std::string& path, Evidence* evidence) {
  const Result<Csv> csv = Csv::Read(path);
  if (!csv) return tl::unexpected(csv.error());
  const Result<PointColumns> columns = ColumnsOf(*csv);
  if (!columns) return tl::unexpected(columns.error());
  for (std::size_t line = 0; line < csv->Lines(); ++line) {
    Result<Point> point = PointOf(*csv, line, *columns, evidence->testbeds);
    if (!point) return tl::unexpected(point.error());
    evidence->points.push_back(std::move(*point));
  }
  return {};
}

Result<Evidence> ReadEvidence(const std::string& directory) {
  Evidence evidence;
  const fs::path home(directory);
  for (const std::string& path : FilesIn(home / "steps"))
    if (Result<void> done = ReadSteps(path, &evidence); !done) return tl::unexpected(done.error());
  for (const Result<void>& done :
       {ReadTestbeds((home / "collectives/machines.yaml").string(), &evidence),
        ReadPoints((home / "collectives/points.csv").string(), &evidence),
        CheckUnique(evidence.rows), CheckUnique(evidence.points)})
    if (!done) return tl::unexpected(done.error());
  return evidence;
}
}  // namespace shardplan::evidence
