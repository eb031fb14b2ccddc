// SPDX-License-Identifier: Apache-2.0
// memory {pattern, bytes, stride}: one pattern of access, and the rate at which it moves bytes
// where it moves any.
#include <memory>

#include "probe/options.h"
#include "probe/patterns.h"
#include "probe/point.h"
#include "probe/probes.h"

namespace shardplan::probe {

std::function<std::vector<Json>()> DeclareMemory(CLI::App& app) {
  struct Options {
    std::vector<std::string> patterns = PatternNames();
    std::vector<std::int64_t> sizes{64 << 20}, strides{1, 2, 4, 8, 16, 32};
  };
  const auto options = std::make_shared<Options>();
  AddWords(app, "--patterns", options->patterns, PatternNames(), "default all");
  AddSizes(app, "--sizes", options->sizes, "bytes of memory; default 64MiB");
  AddSizes(app, "--strides", options->strides, "words of 4 bytes; default 1,2,4,8,16,32");
  return [options] {
    std::vector<Json> points;
    for (const std::string& pattern : options->patterns)
      for (const std::int64_t bytes : options->sizes)
        if (!FindPattern(pattern)->has_stride)
          points.push_back({{"pattern", pattern}, {"bytes", bytes}});
        else
          for (const std::int64_t stride : options->strides)
            points.push_back({{"pattern", pattern}, {"bytes", bytes}, {"stride", stride}});
    return points;
  };
}

Result<void> MeasureMemory(Session& session, const Json& point) {
  PointReader reader("memory", point);
  MemoryShape shape;
  shape.pattern = reader.Word("pattern", PatternNames());
  shape.bytes = reader.Count("bytes");
  shape.stride = reader.Count("stride", 1);
  if (Result<void> read = reader.Done(); !read) return read;

  session.watch.Begin("memory " + point.dump());
  Result<MemoryAccess> access = session.device.Access(shape);
  if (!access) return tl::unexpected(access.error());
  MeasureOptions options = session.measure;
  options.before = std::move(access->before);
  const Result<Summary> summary = Measure(session.device, session.stream, access->work, options);
  if (!summary) return tl::unexpected(summary.error());
  Record record{.probe = "memory", .params = point, .summary = *summary};
  if (access->bytes > 0)
    record.more = {{"bytes", access->bytes}, {"bytes_per_second", access->bytes / summary->median}};
  session.records.Add(record);
  return {};
}
}  // namespace shardplan::probe
