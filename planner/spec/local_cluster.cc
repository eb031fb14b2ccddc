// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/local_cluster.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "planner/base/text.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;

// NVML's functions as far as they are used; no header of it is needed to build.
class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
    ready_ = library_ != nullptr && Find(init_, "nvmlInit_v2") && Find(shutdown_, "nvmlShutdown") &&
             Find(count_, "nvmlDeviceGetCount_v2") &&
             Find(device_, "nvmlDeviceGetHandleByIndex_v2") && Find(name_, "nvmlDeviceGetName") &&
             Find(memory_, "nvmlDeviceGetMemoryInfo") &&
             Find(power_, "nvmlDeviceGetPowerManagementLimit") && init_() == 0;
  }
  ~Nvml() {
    if (ready_) shutdown_();
    if (library_ != nullptr) dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::vector<LocalGpu> Gpus() const {
    std::vector<LocalGpu> gpus;
    unsigned count = 0;
    if (!ready_ || count_(&count) != 0) return gpus;
    for (unsigned index = 0; index < count; ++index) {
      void* device = nullptr;
      std::array<char, 96> name{};
      std::array<unsigned long long, 3> memory{};  // total, free, used
      unsigned milliwatts = 0;
      if (device_(index, &device) != 0 || name_(device, name.data(), name.size()) != 0 ||
          memory_(device, memory.data()) != 0)
        continue;
      const bool told = power_(device, &milliwatts) == 0;
      gpus.push_back({name.data(), static_cast<double>(memory[0]), told ? milliwatts / 1e3 : 0});
    }
    return gpus;
  }

 private:
  template <class F>
  bool Find(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library_, name));
    return function != nullptr;
  }
  void* library_;
  bool ready_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*device_)(unsigned, void**) = nullptr;
  int (*name_)(void*, char*, unsigned) = nullptr;
  int (*memory_)(void*, unsigned long long*) = nullptr;
  int (*power_)(void*, unsigned*) = nullptr;
};

// "NVIDIA A100-SXM4-40GB": nvidia, a100, sxm4, 40gb.
std::set<std::string> WordSet(const std::string& name) {
  const std::vector<std::string> words = WordsOf(name);
  return {words.begin(), words.end()};
}

// Whether a card of another form is meant: NVML names PCIe and NVL cards so, others by socket or
// not at all.
bool IsOtherForm(const std::set<std::string>& entry, const std::set<std::string>& gpu) {
  for (const char* form : {"pcie", "nvl", "ada", "gb200", "gb300", "gh200"})
    if (entry.count(form) != gpu.count(form)) return true;
  return false;
}

double MemInfoTotal() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  double kibibytes = 0;
  file >> key >> kibibytes;
  return kibibytes * 1024;
}

// Network cards that a driver drives and a cable reaches: how many, and the rate of the fastest.
struct Nics {
  int count = 0;
  double bits = 0;
};
Nics LocalNics() {
  Nics nics;
  std::error_code error;
  for (fs::directory_iterator it("/sys/class/net", error), end; !error && it != end;
       it.increment(error)) {
    double megabits = 0;
    if (!fs::exists(it->path() / "device", error)) continue;
    std::ifstream(it->path() / "speed") >> megabits;
    if (megabits <= 0) continue;
    if (megabits * 1e6 > nics.bits) nics = {0, megabits * 1e6};
    if (megabits * 1e6 == nics.bits) ++nics.count;
  }
  return nics;
}

// Whether the processor has an instruction set, as /proc/cpuinfo lists it.
bool HasFlag(const std::string& flag) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, 5, "flags") != 0) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;)
      if (word == flag) return true;
    return false;
  }
  return false;
}

// The host as an accelerator. No file tells clock under load or memory channels: 2.5 GHz, two units
// of fused multiply-add a core, and two channels of DDR4-2666 are guesses until a profile measures.
void DescribeHost(v1::Gpu& gpu) {
  const double cores = std::max(1u, std::thread::hardware_concurrency());
  const double lanes = HasFlag("avx512f") ? 16 : HasFlag("avx2") ? 8 : 4;
  const double flops = cores * 2.5e9 * 2 * 2 * lanes;
  gpu.set_architecture(v1::ARCHITECTURE_VOLTA);  // decides nothing but NCCL's tables
  gpu.set_memory(MemInfoTotal());
  gpu.set_memory_bandwidth(2 * 21.3e9);
  gpu.set_fp32(flops);
  gpu.set_fp16(flops);  // computed in fp32
  gpu.set_sm_count(static_cast<int>(cores));
  gpu.set_source("this host: /proc/cpuinfo, /proc/meminfo; rates are guesses until measured");
}
}  // namespace

std::vector<LocalGpu> LocalGpus() { return Nvml().Gpus(); }

std::string EntryOf(const LocalGpu& gpu,
                    const std::vector<std::pair<std::string, double>>& entries) {
  const std::set<std::string> words = WordSet(gpu.name);
  std::string best;
  double least = std::log(1.15);  // names of one model with other memory lie further apart
  for (const auto& [entry, memory] : entries) {
    const std::set<std::string> parts = WordSet(entry);
    const bool same_model = std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
      const bool is_model = part.find_first_of("0123456789") != std::string::npos &&
                            part.find("gb") == std::string::npos;
      return (is_model || part.compare(0, 2, "gb") == 0) && words.count(part) > 0;
    });
    if (!same_model || IsOtherForm(parts, words)) continue;
    const double distance = std::fabs(std::log(gpu.memory / memory));
    if (distance < least) {
      least = distance;
      best = entry;
    }
  }
  return best;
}

Result<v1::Cluster> LocalCluster(const Reference& from) {
  v1::Cluster cluster;
  cluster.set_nodes(1);
  cluster.set_host_memory(MemInfoTotal());
  if (const Nics nics = LocalNics(); nics.count > 0) {
    cluster.mutable_scale_out()->set_nics(nics.count);
    cluster.mutable_scale_out()->set_rate(nics.bits / 8);
    cluster.mutable_scale_out()->set_kind(v1::NETWORK_ETHERNET);
  }
  const std::vector<LocalGpu> gpus = LocalGpus();
  if (gpus.empty()) {
    cluster.set_gpus_per_node(1);
    DescribeHost(*cluster.mutable_gpu());
    return cluster;
  }
  std::vector<std::pair<std::string, double>> entries;
  for (const std::string& name : EntryNames("gpus")) {
    v1::Gpu entry;
    SourceMap map;
    if (const Result<void> read = ReadEntry("gpus", name, from, &entry, &map); !read)
      return tl::unexpected(read.error());
    entries.emplace_back(name, entry.memory());
  }
  const std::string entry = EntryOf(gpus.front(), entries);
  if (entry.empty())
    return InvalidAt(from.place, from.path,
                     fmt::format("configs/gpus has no {} with {:.1f} GiB", gpus.front().name,
                                 gpus.front().memory / (1 << 30)),
                     "give gpu: {architecture, memory, memory_bandwidth, bf16, ...} by hand");
  cluster.mutable_gpu()->set_base(entry);
  if (gpus.front().power_limit_watts > 0)
    cluster.mutable_gpu()->set_power_limit(gpus.front().power_limit_watts);
  cluster.set_gpus_per_node(static_cast<int>(gpus.size()));
  return cluster;
}
}  // namespace shardplan
