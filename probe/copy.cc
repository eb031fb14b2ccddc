// SPDX-License-Identifier: Apache-2.0
// copy {kind, bytes, pinned}: within the device, over its link to the host, or both ways at once.
#include <algorithm>
#include <limits>
#include <memory>

#include "probe/options.h"
#include "probe/point.h"
#include "probe/probes.h"

namespace shardplan::probe {
namespace {

const std::vector<std::string> kKinds{"device", "host_to_device", "device_to_host", "both_ways"};
// What a product can run beside.
constexpr char kAllReduce[] = "all_reduce";
std::vector<std::string> Beside() {
  std::vector<std::string> kinds = kKinds;
  kinds.emplace_back(kAllReduce);
  return kinds;
}

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

// A sum of fp32 over all ranks, which must all run it equally often.
Result<Work> AllReduce(Session& session, std::int64_t bytes) {
  World& world = session.world;
  const auto [found, is_new] = session.groups.try_emplace("overlap, all ranks");
  if (is_new) {
    std::vector<int> all;
    for (int rank = 0; rank < world.size(); ++rank) all.push_back(rank);
    auto made = session.device.Connect(world, all, "overlap", {});
    if (!made) return tl::unexpected(made.error());
    found->second.communicator = std::move(*made);
  }
  const std::int64_t count = std::max<std::int64_t>(1, bytes / 4);
  const Result<Transfer> buffers =
      Allocate(session.device, static_cast<std::size_t>(count) * 4, Place::kDevice, Place::kDevice);
  if (!buffers) return tl::unexpected(buffers.error());
  return Work(
      [held = *buffers, count, &communicator = *found->second.communicator](Stream& stream) {
        CollectiveCall call;
        call.op = Collective::kAllReduce;
        call.send = held.from.at();
        call.receive = held.to.at();
        call.count = static_cast<std::size_t>(count);
        call.dtype = Dtype::kFp32;
        return communicator.Enqueue(call, stream);
      });
}
// A fixed number of samples of one run each, the same on all ranks.
MeasureOptions InStep(MeasureOptions options) {
  options.rule.min_samples = options.rule.max_samples = std::min(options.rule.max_samples, 50);
  options.rule.time_limit = {std::numeric_limits<double>::infinity()};
  options.least_sample = options.warm_up_time = {};
  return options;
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
  AddWords(app, "--kinds", options->kinds, Beside(),
           "of copy, or a collective over all ranks; default device,host_to_device");
  AddSizes(app, "--sizes", options->sizes, "bytes of it; default 64MiB");
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
  const std::string kind = reader.Word("kind", Beside());
  const std::int64_t bytes = reader.Count("bytes");
  GemmShape shape;
  shape.m = reader.Count("m");
  shape.n = reader.Count("n");
  shape.k = reader.Count("k");
  shape.dtype = reader.Type();
  if (Result<void> read = reader.Done(); !read) return read;

  session.watch.Begin("overlap " + point.dump());
  const bool collective = kind == kAllReduce;
  const Result<Work> beside =
      collective ? AllReduce(session, bytes)
                 : WorkOf(session.device, kind, static_cast<std::size_t>(bytes), Place::kPinned);
  if (!beside) return tl::unexpected(beside.error());
  const Result<Work> gemm = session.device.Gemm(shape);
  if (!gemm) return tl::unexpected(gemm.error());
  Result<std::unique_ptr<Stream>> other = session.device.MakeStream();
  if (!other) return tl::unexpected(other.error());
  const auto measure = [&](const Work& work) {
    return Measure(session.device, session.stream, work,
                   collective ? InStep(session.measure) : session.measure);
  };
  const Result<Summary> beside_alone = measure(*beside);
  if (!beside_alone) return tl::unexpected(beside_alone.error());
  const Result<Summary> gemm_alone = measure(*gemm);
  if (!gemm_alone) return tl::unexpected(gemm_alone.error());
  return AddSummary(session, "overlap", point, measure(AtOnce(*gemm, *beside, std::move(*other))),
                    {{collective ? "collective_seconds" : "copy_seconds", beside_alone->median},
                     {"gemm_seconds", gemm_alone->median}});
}
}  // namespace shardplan::probe
