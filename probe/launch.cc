// SPDX-License-Identifier: Apache-2.0
// launch {graph}: what starting a kernel takes, one by one or as the nodes of a captured graph.
#include <memory>

#include "probe/point.h"
#include "probe/probes.h"

namespace shardplan::probe {
namespace {

constexpr int kNodes = 100;  // of the graph: so many that launching it weighs little

Work Repeat(const Work& work, int times) {
  return [=](Stream& stream) -> Result<void> {
    for (int i = 0; i < times; ++i)
      if (Result<void> done = work(stream); !done) return done;
    return {};
  };
}
}  // namespace

std::function<std::vector<Json>()> DeclareLaunch(CLI::App& app) {
  const auto graph = std::make_shared<bool>(false);
  app.add_flag("--graph", *graph, "as the nodes of a captured graph");
  return [graph] { return std::vector<Json>{*graph ? Json{{"graph", true}} : Json::object()}; };
}

Result<void> MeasureLaunch(Session& session, const Json& point) {
  PointReader reader("launch", point);
  const bool graph = reader.Flag("graph", false);
  if (Result<void> read = reader.Done(); !read) return read;
  session.watch.Begin("launch " + point.dump());
  Result<Work> work = session.device.Nothing();
  if (!work) return tl::unexpected(work.error());
  if (graph) work = session.device.Capture(Repeat(*work, kNodes), session.stream);
  if (!work) return tl::unexpected(work.error());
  Result<Summary> summary = Measure(session.device, session.stream, *work, session.measure);
  if (!summary) return tl::unexpected(summary.error());
  if (graph)
    for (double* figure : {&summary->median, &summary->p10, &summary->p90}) *figure /= kNodes;
  session.records.Add({.probe = "launch", .params = point, .summary = *summary});
  return {};
}
}  // namespace shardplan::probe
