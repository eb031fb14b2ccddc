// SPDX-License-Identifier: Apache-2.0
// host_collectives [FOLDER]: how well a profile predicts sizes that were not measured.
//
// Four ranks on the host device, each in a network namespace behind a link that tc's token bucket
// filter limits, in three topologies. Some sizes make the profile; the others are predicted from
// it, as `cluster.profile` would, and compared. A table goes to standard output as CSV, the records
// to FOLDER if one is named. Needs root and iproute2; without them it says so and exits with 77.
#include "tests/evidence/host_collectives.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "planner/report/collectives_report.h"

namespace {
namespace fs = std::filesystem;
using namespace shardplan;

constexpr int kRanks = 4, kCannot = 77;
constexpr double kAllowed = 0.15;
// So slow and large that a message takes longer than the processors' scheduling, which is not what
// is predicted here.
constexpr char kMeasured[] = "256K,1M,4M", kPredicted[] = "384K,512K,2M,3M";
constexpr char kOps[] =
    "all_reduce,all_gather,reduce_scatter,broadcast,reduce,all_to_all,send_recv";

struct Topology {
  const char* name;
  std::array<int, kRanks> megabits;  // of each rank's link, both ways
  int trunk = 0;  // Mbit/s between ranks {0, 1} and {2, 3}; 0: one switch for all
};
constexpr std::array<Topology, 3> kTopologies{{{"equal", {100, 100, 100, 100}},
                                               {"slow link", {100, 100, 100, 40}},
                                               {"two nodes", {200, 200, 200, 200}, 80}}};

bool Run(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;  // NOLINT(cert-env33-c)
}

// The namespaces of one topology; they and their links go with it.
class Network {
 public:
  explicit Network(const Topology& topology) {
    const int switches = topology.trunk > 0 ? 2 : 1;
    for (int i = 0; i < switches; ++i) {
      Do("ip link add {} type bridge", Switch(i));
      Do("ip link set {} up", Switch(i));
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      const std::string outer = fmt::format("{}o{}", prefix_, rank), space = Space(rank);
      Do("ip netns add {}", space);
      Do("ip link add {} type veth peer name eth0 netns {}", outer, space);
      Do("ip link set {} master {} up", outer, Switch(switches == 2 ? rank / 2 : 0));
      Do("ip -n {} addr add 10.77.0.{}/24 dev eth0", space, rank + 1);
      Do("ip -n {} link set eth0 up", space);
      Do("ip -n {} link set lo up", space);
      const int rate = topology.megabits[static_cast<std::size_t>(rank)];
      Limit(fmt::format("-n {}", space), "eth0", rate);
      Limit("", outer, rate);
    }
    if (switches == 2) {
      const std::string a = prefix_ + "ta", b = prefix_ + "tb";
      Do("ip link add {} type veth peer name {}", a, b);
      Do("ip link set {} master {} up", a, Switch(0));
      Do("ip link set {} master {} up", b, Switch(1));
      Limit("", a, topology.trunk);
      Limit("", b, topology.trunk);
    }
  }
  ~Network() {
    for (int rank = 0; rank < kRanks; ++rank) Run(fmt::format("ip netns del {}", Space(rank)));
    Run(fmt::format("ip link del {}ta", prefix_));
    for (int i = 0; i < 2; ++i) Run(fmt::format("ip link del {}", Switch(i)));
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  bool ok() const { return ok_; }
  std::string Space(int rank) const { return fmt::format("{}n{}", prefix_, rank); }

 private:
  std::string Switch(int index) const { return fmt::format("{}b{}", prefix_, index); }
  // A bucket of 64 KiB, which a message of any size here empties at once.
  void Limit(const std::string& where, const std::string& link, int megabits) {
    Do("tc {} qdisc add dev {} root tbf rate {}mbit burst 64kb latency 200ms", where, link,
       megabits);
  }
  template <class... Arguments>
  void Do(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    ok_ = ok_ && Run(fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  std::string prefix_ = fmt::format("sp{}", getpid() % 10000);
  bool ok_ = true;
};

// The records of one run over four ranks, in a file.
bool Measure(const Network& network, const char* sizes, const fs::path& file) {
  std::string command;
  for (int rank = 0; rank < kRanks; ++rank)
    command += fmt::format(
        "ip netns exec {} env RANK={} WORLD_SIZE={} MASTER_ADDR=10.77.0.1 MASTER_PORT=29533 '{}' "
        "collectives --device=host --ops {} --sizes {} --place out --relative-error 0.03 "
        "--min-samples 6 --time-limit 3 --warm-up 1 --deadline 900 >'{}' & pid{}=$!; ",
        network.Space(rank), rank, kRanks, SHARDPLAN_PROBE_BINARY, kOps, sizes,
        rank == 0 ? file.string() : "/dev/null", rank);
  for (int rank = 0; rank < kRanks; ++rank) command += fmt::format("wait $pid{} || exit 1; ", rank);
  return std::system(command.c_str()) == 0;  // NOLINT(cert-env33-c)
}

}  // namespace

int main(int argc, char** argv) {
  // A signal ends the ranks, which this program then sees; it stays to take down the network.
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) {});
  const fs::path folder = argc > 1 ? fs::path(argv[1]) : fs::temp_directory_path();
  std::printf("topology,op,bytes,measured,predicted,error\n");
  std::vector<double> errors;
  for (const Topology& topology : kTopologies) {
    const Network network(topology);
    if (!network.ok()) {
      std::fprintf(stderr,
                   "host_collectives: network namespaces with tc tbf cannot be made here; it "
                   "needs root and iproute2\n");
      return kCannot;
    }
    std::string stem = topology.name;
    std::replace(stem.begin(), stem.end(), ' ', '-');
    const fs::path profile = folder / (stem + ".profile.jsonl"),
                   truth = folder / (stem + ".truth.jsonl");
    if (!Measure(network, kMeasured, profile) || !Measure(network, kPredicted, truth)) return 1;
    const auto predicted = evidence::PredictFromProfile(profile.string(), truth.string());
    if (!predicted) {
      std::fprintf(stderr, "%s\n", predicted.error().message.c_str());
      return 1;
    }
    for (const evidence::PredictedCollective& one : *predicted) {
      std::printf("%s,%s,%.0f,%.6f,%.6f,%+.3f\n", topology.name, Name(one.op), one.bytes.value,
                  one.measured.value, one.predicted.value, one.Error());
      errors.push_back(std::fabs(one.Error()));
    }
    std::fflush(stdout);
    if (argc < 2) {
      fs::remove(profile);
      fs::remove(truth);
    }
  }
  std::sort(errors.begin(), errors.end());
  const auto within =
      std::count_if(errors.begin(), errors.end(), [](double e) { return e <= kAllowed; });
  std::fprintf(stderr,
               "%zu sizes that were not measured: median error %.1f %%, 90 %% of them within "
               "%.1f %%, %td within %.0f %%\n",
               errors.size(), errors[errors.size() / 2] * 100, errors[errors.size() * 9 / 10] * 100,
               within, kAllowed * 100);
  return within == static_cast<std::ptrdiff_t>(errors.size()) ? 0 : 1;
}
