// SPDX-License-Identifier: Apache-2.0
// copy {kind, bytes, pinned}: within the device, over its link to the host, or both ways at once.
#include <memory>

#include "probe/options.h"
#include "probe/point.h"
#include "probe/probes.h"

namespace shardplan::probe {
namespace {

const std::vector<std::string> kKinds{"device", "host_to_device", "device_to_host", "both_ways"};

struct Transfer {
  Buffer to, from;
};
Result<Transfer> Allocate(Device& device, std::size_t bytes, Place to, Place from) {
  const Result<Buffer> target = device.Allocate(bytes, to);
  if (!target) return tl::unexpected(target.error());
  const Result<Buffer> source = device.Allocate(bytes, from);
  if (!source) return tl::unexpected(source.error());
  return Transfer{*target, *source};
}
Work CopyOf(Device& device, const Transfer& transfer) {
  return [&device, transfer](Stream& stream) {
    return device.Copy(transfer.to.at(), transfer.from.at(), transfer.to.bytes, stream);
  };
}

// `first` here and `second` on `other`, which starts and ends with this stream.
Work AtOnce(Work first, Work second, std::shared_ptr<Stream> other) {
  return [=](Stream& stream) -> Result<void> {
    const auto begin = stream.Record();
    if (!begin) return tl::unexpected(begin.error());
    if (Result<void> done = other->After(*begin); !done) return done;
    if (Result<void> done = second(*other); !done) return done;
    if (Result<void> done = first(stream); !done) return done;
    const auto end = other->Record();
    if (!end) return tl::unexpected(end.error());
    return stream.After(*end);
  };
}

Result<Work> WorkOf(Device& device, const std::string& kind, std::size_t bytes, Place host) {
  const Place to = kind == "device_to_host" ? host : Place::kDevice;
  const Place from = kind == "host_to_device" || kind == "both_ways" ? host : Place::kDevice;
  const Result<Transfer> transfer = Allocate(device, bytes, to, from);
  if (!transfer) return tl::unexpected(transfer.error());
  if (kind != "both_ways") return CopyOf(device, *transfer);
  const Result<Transfer> back = Allocate(device, bytes, host, Place::kDevice);
  if (!back) return tl::unexpected(back.error());
  Result<std::unique_ptr<Stream>> other = device.MakeStream();
  if (!other) return tl::unexpected(other.error());
  return AtOnce(CopyOf(device, *transfer), CopyOf(device, *back), std::move(*other));
}

Result<void> AddSummary(Session& session, const char* probe, const Json& point,
                        const Result<Summary>& summary, Json more) {
  if (!summary) return tl::unexpected(summary.error());
  session.records.Add(
      {.probe = probe, .params = point, .summary = *summary, .more = std::move(more)});
  return {};
}
}  // namespace

std::function<std::vector<Json>()> DeclareCopy(CLI::App& app) {
  struct Options {
    std::vector<std::string> kinds = kKinds;
    std::vector<std::int64_t> sizes{64 << 20};
    bool pageable = false;
  };
  const auto options = std::make_shared<Options>();
  AddWords(app, "--kinds", options->kinds, kKinds, "default all");
  AddSizes(app, "--sizes", options->sizes, "bytes each way; default 64MiB");
  app.add_flag("--pageable", options->pageable, "ordinary host memory; default: pinned");
  return [options] {
    std::vector<Json> points;
    for (const std::string& kind : options->kinds)
      for (const std::int64_t bytes : options->sizes) {
        points.push_back({{"kind", kind}, {"bytes", bytes}});
        if (kind != "device") points.back()["pinned"] = !options->pageable;
      }
    return points;
  };
}

// Bytes count once for each way that they go, whatever a copy reads and writes.
Result<void> MeasureCopy(Session& session, const Json& point) {
  PointReader reader("copy", point);
  const std::string kind = reader.Word("kind", kKinds);
  const std::int64_t bytes = reader.Count("bytes");
  const bool pinned = reader.Flag("pinned", true);
  if (Result<void> read = reader.Done(); !read) return read;

  session.watch.Begin("copy " + point.dump());
  const Result<Work> work = WorkOf(session.device, kind, static_cast<std::size_t>(bytes),
                                   pinned ? Place::kPinned : Place::kPageable);
  if (!work) return tl::unexpected(work.error());
  const Result<Summary> summary = Measure(session.device, session.stream, *work, session.measure);
  const double moved = static_cast<double>(bytes) * (kind == "both_ways" ? 2 : 1);
  return AddSummary(session, "copy", point, summary,
                    summary ? Json{{"bytes_per_second", moved / summary->median}} : Json());
}

std::function<std::vector<Json>()> DeclareOverlap(CLI::App& app) {
  struct Options {
    std::vector<std::string> kinds{"device", "host_to_device"};
    std::vector<std::int64_t> sizes{64 << 20};
    std::vector<std::vector<std::int64_t>> shapes{{4096, 4096, 4096}};
    std::vector<std::string> dtypes{"bf16"};
  };
  const auto options = std::make_shared<Options>();
  AddWords(app, "--kinds", options->kinds, kKinds, "of copy; default device,host_to_device");
  AddSizes(app, "--sizes", options->sizes, "bytes of the copy; default 64MiB");
  AddShapes(app, "--shapes", options->shapes, 3, "the products, MxNxK; default 4096x4096x4096");
  AddDtypes(app, options->dtypes);
  return [options] {
    std::vector<Json> points;
    for (const std::string& kind : options->kinds)
      for (const std::int64_t bytes : options->sizes)
        for (const auto& shape : options->shapes)
          for (const std::string& dtype : options->dtypes)
            points.push_back({{"kind", kind},
                              {"bytes", bytes},
                              {"m", shape[0]},
                              {"n", shape[1]},
                              {"k", shape[2]},
                              {"dtype", dtype}});
    return points;
  };
}

// Seconds of both at once; beside it what each takes alone.
Result<void> MeasureOverlap(Session& session, const Json& point) {
  PointReader reader("overlap", point);
  const std::string kind = reader.Word("kind", kKinds);
  const std::int64_t bytes = reader.Count("bytes");
  GemmShape shape;
  shape.m = reader.Count("m");
  shape.n = reader.Count("n");
  shape.k = reader.Count("k");
  shape.dtype = reader.Type();
  if (Result<void> read = reader.Done(); !read) return read;

  session.watch.Begin("overlap " + point.dump());
  const Result<Work> copy =
      WorkOf(session.device, kind, static_cast<std::size_t>(bytes), Place::kPinned);
  if (!copy) return tl::unexpected(copy.error());
  const Result<Work> gemm = session.device.Gemm(shape);
  if (!gemm) return tl::unexpected(gemm.error());
  Result<std::unique_ptr<Stream>> other = session.device.MakeStream();
  if (!other) return tl::unexpected(other.error());
  const auto measure = [&](const Work& work) {
    return Measure(session.device, session.stream, work, session.measure);
  };
  const Result<Summary> copy_alone = measure(*copy);
  if (!copy_alone) return tl::unexpected(copy_alone.error());
  const Result<Summary> gemm_alone = measure(*gemm);
  if (!gemm_alone) return tl::unexpected(gemm_alone.error());
  return AddSummary(session, "overlap", point, measure(AtOnce(*gemm, *copy, std::move(*other))),
                    {{"copy_seconds", copy_alone->median}, {"gemm_seconds", gemm_alone->median}});
}
}  // namespace shardplan::probe
