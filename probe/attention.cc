// SPDX-License-Identifier: Apache-2.0
// attention {batch, heads, kv_heads, seq, head_dim, causal, pass, dtype}: fused attention.
#include <fmt/format.h>

#include <memory>

#include "probe/options.h"
#include "probe/point.h"
#include "probe/probes.h"

namespace shardplan::probe {
namespace {

const std::vector<std::string> kPasses{"forward", "backward"};

// Two products forward and five backward, over the scores that a causal mask leaves.
double FlopsOf(const AttentionShape& shape) {
  const auto seq = static_cast<double>(shape.seq);
  const double scores = shape.causal ? seq * (seq + 1) / 2 : seq * seq;
  return (shape.backward ? 5 : 2) * 2.0 * static_cast<double>(shape.batch * shape.heads) * scores *
         static_cast<double>(shape.head_dim);
}
}  // namespace

std::function<std::vector<Json>()> DeclareAttention(CLI::App& app) {
  struct Options {
    std::vector<std::vector<std::int64_t>> shapes;
    std::vector<std::string> dtypes{"bf16"}, passes = kPasses;
    bool full = false;
  };
  const auto options = std::make_shared<Options>();
  AddShapes(app, "--shapes", options->shapes, 5,
            "BATCHxHEADSxKV_HEADSxSEQxHEAD_DIM, as in 1x32x8x8192x128")
      ->required();
  AddDtypes(app, options->dtypes);
  AddWords(app, "--passes", options->passes, kPasses, "default both");
  app.add_flag("--full", options->full, "every query sees every key; default: causal");
  return [options] {
    std::vector<Json> points;
    for (const std::string& dtype : options->dtypes)
      for (const auto& shape : options->shapes)
        for (const std::string& pass : options->passes)
          points.push_back({{"batch", shape[0]},
                            {"heads", shape[1]},
                            {"kv_heads", shape[2]},
                            {"seq", shape[3]},
                            {"head_dim", shape[4]},
                            {"causal", !options->full},
                            {"pass", pass},
                            {"dtype", dtype}});
    return points;
  };
}

Result<void> MeasureAttention(Session& session, const Json& point) {
  PointReader reader("attention", point);
  AttentionShape shape;
  shape.batch = reader.Count("batch");
  shape.heads = reader.Count("heads");
  shape.kv_heads = reader.Count("kv_heads");
  shape.seq = reader.Count("seq");
  shape.head_dim = reader.Count("head_dim");
  shape.causal = reader.Flag("causal", true);
  shape.backward = reader.Word("pass", kPasses) == "backward";
  shape.dtype = reader.Type();
  if (Result<void> read = reader.Done(); !read) return read;
  if (shape.heads % shape.kv_heads != 0)
    return Invalid(fmt::format("attention: heads ({}) is not a multiple of kv_heads ({})",
                               shape.heads, shape.kv_heads));

  session.watch.Begin("attention " + point.dump());
  const Result<Work> work = session.device.Attention(shape);
  if (!work) return tl::unexpected(work.error());
  const Result<Summary> summary = Measure(session.device, session.stream, *work, session.measure);
  if (!summary) return tl::unexpected(summary.error());
  session.records.Add({.probe = "attention",
                       .params = point,
                       .summary = *summary,
                       .more = {{"flops_per_second", FlopsOf(shape) / summary->median}}});
  return {};
}
}  // namespace shardplan::probe
