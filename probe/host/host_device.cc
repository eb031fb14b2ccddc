// SPDX-License-Identifier: Apache-2.0
#include "probe/host/host_device.h"

#include <cblas.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <string>

#include "probe/devices.h"
#include "probe/host/gloo_communicator.h"
#include "probe/host/host_stream.h"

namespace shardplan::probe {
namespace {

// The value of the first line "key : value" of a file of /proc; empty where there is none.
std::string ProcValue(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::size_t MemInfo(std::string_view key) {
  const std::string kib = ProcValue("/proc/meminfo", key);
  return kib.empty() ? 0 : std::stoull(kib) * 1024;
}

std::size_t LastCache() {
  for (const int level : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE})
    if (const long bytes = sysconf(level); bytes > 0) return static_cast<std::size_t>(bytes);
  return 32 << 20;  // what the kernel does not tell: as large as a desktop processor's
}

std::string CpuName() {
  const std::string name = ProcValue("/proc/cpuinfo", "model name");
  return fmt::format("{} x {}", sysconf(_SC_NPROCESSORS_ONLN), name.empty() ? "CPU" : name);
}

void FillRandom(const Buffer& buffer, unsigned seed) {
  std::minstd_rand random(seed);
  auto* values = static_cast<float*>(buffer.at());
  for (std::size_t i = 0; i < buffer.bytes / sizeof(float); ++i)
    values[i] = static_cast<float>(random() % 2001) / 1000 - 1;
}
}  // namespace

HostDevice::HostDevice(Watch& watch)
    : watch_(watch), ours_(std::make_shared<std::atomic<std::size_t>>(0)) {
  info_.kind = "host";
  info_.name = CpuName();
  info_.last_cache = LastCache();
}

Result<std::unique_ptr<Stream>> HostDevice::MakeStream() {
  return std::make_unique<HostStream>(watch_);
}

Result<Seconds> HostDevice::Between(const Event& from, const Event& to) {
  const auto time = [](const Event& event) { return static_cast<const HostEvent&>(event).time(); };
  return Seconds{std::chrono::duration<double>(time(to) - time(from)).count()};
}

MemoryState HostDevice::Memory() {
  return {MemInfo("MemAvailable"), MemInfo("MemTotal"), *ours_, refused_};
}

Result<Buffer> HostDevice::Allocate(std::size_t bytes, Place) {
  // The kernel promises more than there is, and kills whoever takes it at its word.
  void* memory = MAP_FAILED;
  if (bytes <= Memory().free)
    memory = mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    refused_ = bytes;
    return tl::unexpected(
        Error{Code::kResourceExhausted, "out of host memory: " + Explain(Memory())});
  }
  *ours_ += bytes;
  const auto free = [bytes, ours = ours_](void* mapped) {
    munmap(mapped, std::max<std::size_t>(bytes, 1));
    *ours -= bytes;
  };
  return Buffer{std::shared_ptr<void>(memory, free), bytes};
}

Result<void> HostDevice::Copy(void* to, const void* from, std::size_t bytes, Stream& stream) {
  return HostStream::Of(stream).Run([=]() -> Result<void> {
    std::memcpy(to, from, bytes);
    return {};
  });
}

Result<std::unique_ptr<Communicator>> HostDevice::Connect(World& world,
                                                          const std::vector<int>& members,
                                                          const std::string& name,
                                                          const CommunicatorOptions& options) {
  if (options.channels != 0) return Lacks("channels");
  return GlooCommunicator::Connect(world, members, name);
}

Result<void> HostDevice::Fill(void* array, Dtype dtype, const Pattern& pattern, const Span& span,
                              Stream& stream) {
  return HostStream::Of(stream).Run([=]() -> Result<void> {
    for (std::uint64_t i = 0; i < span.count; ++i)
      Store(dtype, array, span.begin + i, static_cast<double>(ElementOf(pattern, span, i)));
    return {};
  });
}

Result<long> HostDevice::CountWrong(const void* array, Dtype dtype, const Pattern& pattern,
                                    const Span& span, Stream& stream) {
  if (const Result<void> idle = stream.Wait(); !idle) return tl::unexpected(idle.error());
  long wrong = 0;
  for (std::uint64_t i = 0; i < span.count; ++i)
    if (Load(dtype, array, span.begin + i) != static_cast<double>(ElementOf(pattern, span, i)))
      ++wrong;
  return wrong;
}

Result<Work> HostDevice::Gemm(const GemmShape& shape) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();  // OpenBLAS counts in int
  if (shape.dtype != Dtype::kFp32 || shape.m > kMost || shape.n > kMost || shape.k > kMost)
    return Device::Gemm(shape);
  const auto size = [&](std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(shape.batch * rows * columns) * sizeof(float);
  };
  Result<Buffer> a = Allocate(size(shape.m, shape.k), Place::kDevice);
  if (!a) return tl::unexpected(a.error());
  Result<Buffer> b = Allocate(size(shape.k, shape.n), Place::kDevice);
  if (!b) return tl::unexpected(b.error());
  Result<Buffer> c = Allocate(size(shape.m, shape.n), Place::kDevice);
  if (!c) return tl::unexpected(c.error());
  FillRandom(*a, 1);
  FillRandom(*b, 2);
  return Work([shape, a = *a, b = *b, c = *c](Stream& stream) {
    return HostStream::Of(stream).Run([=]() -> Result<void> {
      const auto m = static_cast<int>(shape.m), n = static_cast<int>(shape.n),
                 k = static_cast<int>(shape.k);
      const bool is_a_transposed = shape.pass == GemmPass::kWeight;
      const bool is_b_transposed = shape.pass == GemmPass::kForward;
      const auto at = [](const Buffer& buffer, std::int64_t index) {
        return static_cast<float*>(buffer.at()) + index;
      };
      for (std::int64_t i = 0; i < shape.batch; ++i)
        cblas_sgemm(CblasRowMajor, is_a_transposed ? CblasTrans : CblasNoTrans,
                    is_b_transposed ? CblasTrans : CblasNoTrans, m, n, k, 1.f,
                    at(a, i * shape.m * shape.k), is_a_transposed ? m : k,
                    at(b, i * shape.k * shape.n), is_b_transposed ? k : n, 0.f,
                    at(c, i * shape.m * shape.n), n);
      return {};
    });
  });
}

Result<Work> HostDevice::Nothing() {
  return Work([](Stream& stream) {
    return HostStream::Of(stream).Run([]() -> Result<void> { return {}; });
  });
}

Result<std::unique_ptr<Device>> OpenHost(Watch& watch) {
  return std::make_unique<HostDevice>(watch);
}
}  // namespace shardplan::probe
