// SPDX-License-Identifier: Apache-2.0
// elementwise {name, elements, width, dtype, cold}: a memory-bound pass of a training step.
// occupancy {name, elements, width, dtype}: what the kernels of that pass take.
#include <fmt/format.h>

#include <memory>

#include "probe/options.h"
#include "probe/passes.h"
#include "probe/point.h"
#include "probe/probes.h"

namespace shardplan::probe {
namespace {

struct Options {
  std::vector<std::string> names = PassNames(), dtypes{"bf16"};
  std::vector<std::vector<std::int64_t>> shapes;
  bool cold = false;
};

std::shared_ptr<Options> Declare(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  AddWords(app, "--names", options->names, PassNames(), "passes; default all");
  AddShapes(app, "--shapes", options->shapes, 2, "ROWSxWIDTH, as in 16384x4096")->required();
  AddDtypes(app, options->dtypes);
  return options;
}

std::vector<Json> PointsOf(const Options& options) {
  std::vector<Json> points;
  for (const std::string& name : options.names)
    for (const std::string& dtype : options.dtypes)
      for (const auto& shape : options.shapes) {
        points.push_back({{"name", name},
                          {"elements", shape[0] * shape[1]},
                          {"width", shape[1]},
                          {"dtype", dtype}});
        if (options.cold) points.back()["cold"] = true;
      }
  return points;
}

ElementwiseShape ShapeOf(PointReader& reader) {
  ElementwiseShape shape;
  shape.name = reader.Word("name", PassNames());
  shape.elements = reader.Count("elements");
  shape.width = reader.Count("width");
  shape.dtype = reader.Type();
  return shape;
}

Result<void> Check(const PointReader& reader, const ElementwiseShape& shape) {
  if (Result<void> read = reader.Done(); !read) return read;
  if (shape.elements % shape.width != 0)
    return Invalid(fmt::format("elementwise: elements ({}) are not whole rows of width {}",
                               shape.elements, shape.width));
  return {};
}
}  // namespace

std::function<std::vector<Json>()> DeclareElementwise(CLI::App& app) {
  const auto options = Declare(app);
  app.add_flag("--cold", options->cold, "evict the last cache before each pass");
  return [options] { return PointsOf(*options); };
}

Result<void> MeasureElementwise(Session& session, const Json& point) {
  PointReader reader("elementwise", point);
  const ElementwiseShape shape = ShapeOf(reader);
  MeasureOptions options = session.measure;
  options.cold = reader.Flag("cold", false);
  if (Result<void> read = Check(reader, shape); !read) return read;

  session.watch.Begin("elementwise " + point.dump());
  const Result<Work> work = session.device.Elementwise(shape);
  if (!work) return tl::unexpected(work.error());
  const Result<Summary> summary = Measure(session.device, session.stream, *work, options);
  if (!summary) return tl::unexpected(summary.error());
  const double bytes = BytesOf(*FindPass(shape.name), shape);
  session.records.Add({.probe = "elementwise",
                       .params = point,
                       .summary = *summary,
                       .more = {{"bytes", bytes}, {"bytes_per_second", bytes / summary->median}}});
  return {};
}

std::function<std::vector<Json>()> DeclareOccupancy(CLI::App& app) {
  const auto options = Declare(app);
  return [options] { return PointsOf(*options); };
}

Result<void> MeasureOccupancy(Session& session, const Json& point) {
  PointReader reader("occupancy", point);
  const ElementwiseShape shape = ShapeOf(reader);
  if (Result<void> read = Check(reader, shape); !read) return read;
  session.watch.Begin("occupancy " + point.dump());
  const Result<Work> work = session.device.Elementwise(shape);
  if (!work) return tl::unexpected(work.error());
  const Result<std::vector<KernelFacts>> kernels = session.device.KernelsOf(*work, session.stream);
  if (!kernels) return tl::unexpected(kernels.error());
  for (const KernelFacts& kernel : *kernels) {
    Json params = point;
    params["kernel"] = kernel.name;
    const double occupancy = kernel.occupancy;
    session.records.Add({.probe = "occupancy",
                         .params = params,
                         .metric = "occupancy",
                         .unit = "1",
                         .summary = {occupancy, occupancy, occupancy, 1, 0, Stop::kGoOn},
                         .more = {{"registers", kernel.registers},
                                  {"spilled_bytes", kernel.spilled},
                                  {"shared_bytes", kernel.shared},
                                  {"block_threads", kernel.threads}}});
  }
  return {};
}
}  // namespace shardplan::probe
