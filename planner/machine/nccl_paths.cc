// SPDX-License-Identifier: Apache-2.0
#include "planner/machine/nccl_paths.h"

#include <algorithm>
#include <array>
#include <bit>

#include "planner/machine/network.h"

namespace shardplan {
namespace {

// What one architecture's links and SMs give NCCL. "Of the link" is of its data-sheet rate.
struct LinkFacts {
  double ring;           // of the link: bus bandwidth of large ring collectives
  double pair;           // of the link: send and receive at once
  double nvls;           // of the link: multicast and in-switch reduction, up to 8 GPUs
  double channel_speed;  // GB/s of one channel that the search settles on
  int nvls_channels;     // on one island, on several
  int nvls_channels_net;
};
// In the order of Architecture. Rings: V100 DGX-1 125-130 of 150 GB/s, A100 241 of 300 before the
// cost of a slice, H100 and H20 367 of 450, B200 650-695 of 900 (public nccl-tests points; H20:
// Mooncake#3484), MI300X 310 of 448 (RCCL, mesh). Pairs: A100 195 (it reads its peer), B200 663.
// NVLS: see kNvlsChunkCost in nccl_tuning.cc. Channels: NCCL 2.28.9.
constexpr std::array<LinkFacts, 7> kLinks = {{
    {0.83, 0.80, 0, 20, 0, 0},         // Volta
    {0.80, 0.75, 0, 20, 0, 0},         // Turing
    {0.805, 0.65, 0, 20, 0, 0},        // Ampere
    {0.80, 0.75, 0, 20, 0, 0},         // Ada
    {0.815, 0.80, 0.784, 30, 16, 16},  // Hopper
    {0.735, 0.74, 0.706, 45, 24, 32},  // Blackwell
    {0.70, 0.65, 0, 16, 0, 0},         // Cdna
}};

// NVLS in a domain of many switch trays: 835 GB/s of bus bandwidth on 72 GB200 are 0.48 of the
// link, where 8 B200 reach 0.6 after the cost of chunks (public nccl-tests points).
constexpr double kNvlsRackWire = 0.485;
constexpr int kNvlsOneTray = 8;

// PCIe x16 of one direction, GB/s by generation, and what of it peers reach. 4 x RTX 4090 with P2P
// on one Gen4 socket: 25.3 of 31.5; through host memory about three quarters of that.
constexpr double kPcieGen3 = 15.75e9;
constexpr double kPcieReach = 0.80;
constexpr double kHostMemoryReach = 0.75;
// Beyond four GPUs a ring crosses the sockets' link: 8 x RTX 5880 Gen4 12.2, 8 x RTX 5090 Gen5 28
// (nccl#1639).
constexpr double kTwoSockets = 0.5;
constexpr int kGpusOfSocket = 4;

// NCCL's own assumption for a socket of unknown speed, 10 Gb/s (topo.cc:373).
constexpr double kUnknownSocket = 1.25e9;

// Data-sheet rate of all of a GPU's links, which the search counts channels by. A what-if on
// bandwidth does not change them.
double LinkRate(const Gpu& gpu) {
  constexpr std::array<int, 7> kUsualLinks = {6, 2, 12, 4, 18, 18, 7};
  constexpr std::array<double, 7> kRate = {25e9, 25e9, 25e9, 25e9, 25e9, 50e9, 64e9};
  const auto architecture = static_cast<std::size_t>(gpu.architecture);
  return (gpu.nvlinks > 0 ? gpu.nvlinks : kUsualLinks[architecture]) * kRate[architecture];
}
// NCCL takes 20.6 GB/s of a link of 25 (topo.h:15-32).
constexpr double kSearchShare = 0.823;

double PcieRate(double generation) {
  return kPcieGen3 * static_cast<double>(1 << std::max(0, static_cast<int>(generation) - 3));
}

// The part of its links that a GPU can use towards `ranks` peers of its domain.
double LinkShare(const Machine& machine, int ranks) {
  if (machine.scale_up.fabric != Fabric::kMesh || ranks >= machine.scale_up_domain) return 1;
  const double peers = ranks - 1;
  // DGX-1's cube mesh: two of six links lead out of each quad, and two at most to one peer.
  if (machine.gpu.architecture == Architecture::kVolta && machine.scale_up_domain == 8)
    return ranks > 4 ? 1 : std::min(2.0 / 3, peers / 3);
  return peers / (machine.scale_up_domain - 1);
}

bool IsNvlink(const Machine& machine) {
  return machine.scale_up.fabric != Fabric::kPcie && machine.scale_up_domain > 1;
}

bool IsRecent(const Machine& machine) {
  return machine.gpu.architecture == Architecture::kHopper ||
         machine.gpu.architecture == Architecture::kBlackwell;
}

void FindLinks(const Machine& machine, const NcclKnobs& knobs, Paths& paths) {
  const LinkFacts& facts = kLinks[static_cast<int>(machine.gpu.architecture)];
  const int ranks = paths.reach.per_island;
  paths.nvlink = IsNvlink(machine) && paths.reach.domains == 1 && knobs.peer_to_peer;
  if (paths.nvlink) {
    const double share = LinkShare(machine, std::max(2, ranks));
    const double most = LinkRate(machine.gpu);
    const double link = machine.scale_up.bandwidth.value;
    paths.ring = link * share * facts.ring;
    paths.pair = link * share * facts.pair;
    paths.nvls_wire = link * (ranks > kNvlsOneTray ? kNvlsRackWire : facts.nvls);
    const int graph_channels =
        static_cast<int>(most * share * kSearchShare / (facts.channel_speed * 1e9));
    paths.channels = 2 * std::max(1, graph_channels);
    return;
  }
  const bool pcie_domain = machine.scale_up.fabric == Fabric::kPcie;
  const double link = pcie_domain && machine.scale_up.bandwidth.value > 0
                          ? machine.scale_up.bandwidth.value
                          : PcieRate(machine.gpu.pcie_gen);
  paths.peers = knobs.peer_to_peer && (!pcie_domain || machine.scale_up.peer_to_peer);
  const bool two_sockets = ranks > kGpusOfSocket && machine.gpus_per_node > kGpusOfSocket;
  paths.ring =
      link * kPcieReach * (paths.peers ? 1 : kHostMemoryReach) * (two_sockets ? kTwoSockets : 1);
  paths.pair = paths.ring;
  paths.channels = 2;
}

void FindNetwork(const Machine& machine, const NcclKnobs& knobs, Paths& paths) {
  const ScaleOut& out = machine.scale_out;
  constexpr double kInfinibandLatency = 2e-6;  // already in NCCL's tables
  const NetworkKind* socket = knobs.sockets ? FindNetworkKind("ethernet") : nullptr;
  const double efficiency = socket ? std::min(socket->efficiency, out.efficiency) : out.efficiency;
  const Seconds latency = socket ? Max(socket->latency, out.latency) : out.latency;
  const double nic = out.rate.value * efficiency / std::max(1.0, out.oversubscription);
  // A GPU without NVLink sits in a box where NICs seldom share its PCIe switch.
  const bool pcie_box = machine.scale_up.fabric == Fabric::kPcie;
  paths.gpu_direct = knobs.gpu_direct && !pcie_box && !knobs.sockets;
  paths.channels_per_net_peer = knobs.channels_per_net_peer > 0 ? knobs.channels_per_net_peer : 2;
  if (out.nics == 0 || nic <= 0) {
    paths.net = paths.net_rank = kUnknownSocket;
    return;
  }
  // One GPU's PCIe slot carries the traffic of all the NICs it uses.
  const double slot = PcieRate(machine.gpu.pcie_gen) * kPcieReach;
  paths.net = std::min(nic * paths.reach.Rails(), slot * paths.reach.per_island);
  paths.net_rank = std::min(nic * paths.reach.RailsOfRank(paths.reach.siblings), slot);
  paths.net_latency = std::max(0.0, latency.value - kInfinibandLatency);
}

// Channels of a ring over NICs: one a rail, halved in speed up to four of them, doubled to run, and
// doubled again from Hopper on while below 16 (search.cc:976, connect.cc:451-473).
int NetChannels(const Machine& machine, const Reach& reach) {
  const int rails = std::clamp(static_cast<int>(reach.Rails()), 1, 16);
  const int channels = rails <= 4 ? 4 * rails : 2 * rails;
  return IsRecent(machine) && channels < 16 ? 2 * channels : channels;
}

void FindChannels(const Machine& machine, const NcclKnobs& knobs, Paths& paths) {
  const LinkFacts& facts = kLinks[static_cast<int>(machine.gpu.architecture)];
  const bool net = paths.reach.crosses_islands();
  paths.graph_channels = paths.channels / 2.0;
  paths.graph_bandwidth =
      paths.nvlink ? paths.graph_channels * facts.channel_speed * 1e9 : kPcieGen3 * kPcieReach;
  if (net) {
    paths.channels = NetChannels(machine, paths.reach);
    paths.graph_channels = std::max(1.0, std::min(paths.reach.Rails(), paths.graph_channels));
    paths.graph_bandwidth = paths.graph_channels * (IsRecent(machine) ? 48e9 : 24e9);
  }
  if (paths.reach.ranks == 1) paths.channels = 64;  // no graph bounds them (NCCL 2.28.9)
  paths.channels = std::clamp(paths.channels, knobs.min_channels, knobs.max_channels);
  paths.nvls_channels = net ? facts.nvls_channels_net : facts.nvls_channels;
  if (knobs.nvls_channels > 0) paths.nvls_channels = knobs.nvls_channels;
  paths.nvls_channels = std::min(paths.nvls_channels, knobs.max_channels);
  const int all = static_cast<int>(std::bit_ceil(static_cast<unsigned>(paths.channels)));
  paths.p2p_channels = std::clamp(all, knobs.min_p2p_channels, knobs.max_p2p_channels);
  // Towards one peer: two per link, but two in all over PCIe and host memory (paths.cc:808-890).
  const int links = paths.nvlink ? std::max(1, machine.gpu.nvlinks) : 1;
  paths.p2p_per_peer = std::min(paths.p2p_channels,
                                static_cast<int>(std::bit_ceil(static_cast<unsigned>(2 * links))));
}
}  // namespace

Paths PathsOf(const Machine& machine, const Reach& reach, const NcclKnobs& knobs) {
  Paths paths;
  paths.reach = reach;
  paths.architecture = machine.gpu.architecture;
  FindLinks(machine, knobs, paths);
  FindNetwork(machine, knobs, paths);
  FindChannels(machine, knobs, paths);
  // Off by default where a path leaves NVLink, for it counts on 128-byte stores arriving whole. A
  // rank alone in its node has no path inside that could.
  paths.ll128 = knobs.ll128_forced || paths.nvlink ||
                (reach.per_island == 1 && machine.scale_up.fabric != Fabric::kPcie);
  paths.nvls = knobs.nvls && IsRecent(machine) && paths.nvlink && reach.per_island >= 2 &&
               machine.scale_up.fabric == Fabric::kSwitch && machine.scale_up_domain > 2;
  paths.pat = knobs.pat && reach.per_island == 1 && reach.crosses_islands();
  return paths;
}
}  // namespace shardplan
