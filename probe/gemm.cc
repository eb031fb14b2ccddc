// SPDX-License-Identifier: Apache-2.0
// gemm {m, n, k, dtype, pass, batch, candidates, cold}: one matrix product through the device's
// library. `pass` says which of a linear layer's products it is, forward where it is left out.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "probe/options.h"
#include "probe/point.h"
#include "probe/probes.h"

namespace shardplan::probe {
namespace {
const std::vector<std::string> kPasses{"forward", "input", "weight"};  // as GemmPass counts them
}  // namespace

std::function<std::vector<Json>()> DeclareGemm(CLI::App& app) {
  struct Options {
    std::vector<std::vector<std::int64_t>> shapes;
    std::vector<std::string> dtypes{"fp32"}, passes{kPasses[0]};
    int batch = 1, candidates = 1;
    bool cold = false;
  };
  const auto options = std::make_shared<Options>();
  AddShapes(app, "--shapes", options->shapes, 3,
            "products as MxNxK, as in 4096x4096x4096,128x1024x64")
      ->required();
  AddDtypes(app, options->dtypes);
  AddWords(app, "--passes", options->passes, kPasses, "a layer's product; default forward");
  app.add_option("--batch", options->batch, "so many products in one call; default 1")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_option("--candidates", options->candidates,
                 "measure so many of the library's proposals and keep the fastest; default 1")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_flag("--cold", options->cold, "evict the last cache before each product");
  return [options] {
    std::vector<Json> points;
    for (const std::string& dtype : options->dtypes)
      for (const std::string& pass : options->passes)
        for (const auto& shape : options->shapes) {
          Json point{{"m", shape[0]}, {"n", shape[1]}, {"k", shape[2]}, {"dtype", dtype}};
          if (pass != kPasses[0]) point["pass"] = pass;
          if (options->batch > 1) point["batch"] = options->batch;
          if (options->candidates > 1) point["candidates"] = options->candidates;
          if (options->cold) point["cold"] = true;
          points.push_back(std::move(point));
        }
    return points;
  };
}

Result<void> MeasureGemm(Session& session, const Json& point) {
  PointReader reader("gemm", point);
  GemmShape shape;
  shape.m = reader.Count("m");
  shape.n = reader.Count("n");
  shape.k = reader.Count("k");
  shape.batch = reader.Count("batch", 1);
  const std::string pass = reader.Word("pass", kPasses, kPasses[0]);
  shape.pass =
      static_cast<GemmPass>(std::find(kPasses.begin(), kPasses.end(), pass) - kPasses.begin());
  shape.candidates = static_cast<int>(reader.Count("candidates", 1));
  shape.dtype = reader.Type();
  MeasureOptions options = session.measure;
  options.cold = reader.Flag("cold", false);
  if (Result<void> read = reader.Done(); !read) return read;

  session.watch.Begin("gemm " + point.dump());
  const Result<Work> work = session.device.Gemm(shape);
  if (!work) return tl::unexpected(work.error());
  const Result<Summary> summary = Measure(session.device, session.stream, *work, options);
  if (!summary) return tl::unexpected(summary.error());
  const double flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                       static_cast<double>(shape.k) * static_cast<double>(shape.batch);
  session.records.Add({.probe = "gemm",
                       .params = point,
                       .summary = *summary,
                       .more = {{"flops_per_second", flops / summary->median}}});
  return {};
}
}  // namespace shardplan::probe
