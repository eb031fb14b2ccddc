// SPDX-License-Identifier: Apache-2.0
// disk {kind: read|write, bytes, block, directory}: a file past the page cache (O_DIRECT).
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "probe/options.h"
#include "probe/point.h"
#include "probe/probes.h"

namespace shardplan::probe {
namespace {

constexpr std::size_t kSector = 4096;  // O_DIRECT's alignment on any disk of today

// A file without a name, which goes with its descriptor.
class Scratch {
 public:
  static Result<Scratch> In(const std::string& directory) {
    std::string path = directory + "/shardplan-probe-XXXXXX";
    const int file = mkostemp(path.data(), O_DIRECT | O_CLOEXEC);
    if (file < 0)
      return tl::unexpected(Error{
          Code::kFailedPrecondition,
          fmt::format("disk: {} takes no file past the page cache: {}; --directory names a folder "
                      "of a disk",
                      directory, std::strerror(errno))});
    unlink(path.c_str());
    return Scratch(file);
  }
  ~Scratch() {
    if (file_ >= 0) close(file_);
  }
  Scratch(Scratch&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Scratch& operator=(Scratch&&) = delete;

  // The whole of it in blocks of the buffer's size, from the beginning; a write ends on the disk.
  Result<Seconds> Pass(bool writes, std::size_t bytes, const Buffer& block, const Watch& watch) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t at = 0; at < bytes; at += block.bytes) {
      if (watch.cancelled()) return tl::unexpected(*watch.reason());
      const auto offset = static_cast<off_t>(at);
      const ssize_t moved = writes ? pwrite(file_, block.at(), block.bytes, offset)
                                   : pread(file_, block.at(), block.bytes, offset);
      if (moved != static_cast<ssize_t>(block.bytes)) return Failed(writes ? "write" : "read");
    }
    if (writes && fdatasync(file_) != 0) return Failed("flush");
    return Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
  }

 private:
  explicit Scratch(int file) : file_(file) {}
  static tl::unexpected<Error> Failed(const char* what) {
    return tl::unexpected(
        Error{Code::kInternal, fmt::format("disk: {}: {}", what, std::strerror(errno))});
  }
  int file_;
};
}  // namespace

std::function<std::vector<Json>()> DeclareDisk(CLI::App& app) {
  struct Options {
    std::vector<std::string> kinds{"write", "read"};
    std::vector<std::int64_t> sizes{256 << 20}, blocks{4 << 20};
    std::string directory = ".";
  };
  const auto options = std::make_shared<Options>();
  AddWords(app, "--kinds", options->kinds, {"write", "read"}, "directions");
  AddSizes(app, "--sizes", options->sizes, "of the file; default 256M");
  AddSizes(app, "--blocks", options->blocks, "of one request; default 4M");
  app.add_option("--directory", options->directory, "where the file lies; default: here")
      ->type_name("DIR");
  return [options] {
    std::vector<Json> points;
    for (const std::string& kind : options->kinds)
      for (const std::int64_t bytes : options->sizes)
        for (const std::int64_t block : options->blocks)
          points.push_back({{"kind", kind},
                            {"bytes", bytes},
                            {"block", block},
                            {"directory", options->directory}});
    return points;
  };
}

Result<void> MeasureDisk(Session& session, const Json& point) {
  PointReader reader("disk", point);
  const bool writes = reader.Word("kind", {"write", "read"}) == "write";
  const auto bytes = static_cast<std::size_t>(reader.Count("bytes"));
  const auto block = static_cast<std::size_t>(reader.Count("block", 4 << 20));
  const std::string directory = reader.Text("directory", ".");
  if (Result<void> read = reader.Done(); !read) return read;
  if (block % kSector != 0 || bytes % block != 0)
    return Invalid(
        fmt::format("disk: blocks are multiples of {} bytes, sizes of blocks; {} and {} "
                    "are not",
                    kSector, block, bytes));
  session.watch.Begin("disk " + point.dump());
  Result<Scratch> file = Scratch::In(directory);
  if (!file) return tl::unexpected(file.error());
  const Result<Buffer> buffer = session.device.Allocate(block, Place::kPinned);
  if (!buffer) return tl::unexpected(buffer.error());
  // What is read must have been written; holes of a file are read from nowhere.
  Result<Seconds> time = file->Pass(true, bytes, *buffer, session.watch);
  std::vector<double> samples;
  Seconds spent{};
  Stop stop = Stop::kGoOn;
  while (time && stop == Stop::kGoOn) {
    time = file->Pass(writes, bytes, *buffer, session.watch);
    if (!time) break;
    samples.push_back(time->value);
    spent += *time;
    stop = Judge(session.measure.rule, samples, spent);
  }
  if (!time) return tl::unexpected(time.error());
  const Summary summary = Summarize(samples, stop);
  session.records.Add(
      {.probe = "disk",
       .params = point,
       .summary = summary,
       .more = {{"bytes_per_second", static_cast<double>(bytes) / summary.median}}});
  return {};
}
}  // namespace shardplan::probe
