// SPDX-License-Identifier: Apache-2.0
#include "planner/machine/nccl_tuning.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace shardplan {
namespace {

constexpr double kMicrosecond = 1e-6;
constexpr double kKiB = 1024, kMiB = 1 << 20;

// Microseconds by protocol: LL, LL128, Simple.
using ByProtocol = std::array<double, kProtocols>;

// tuning.cc:142-160, NCCL 2.28.9.
constexpr ByProtocol kRingBase = {6.6, 14, 8.4}, kTreeBase = {6.8, 14, 8.4};
constexpr ByProtocol kRingNvlink = {0.6, 1.9, 3.4}, kTreeNvlink = {0.6, 1.25, 4.0};
// NCCL has 1.0 us for LL over PCIe; 4 x RTX 4090 take 18.5 us for 1 KiB (6 hops).
constexpr ByProtocol kRingPci = {2.0, 2.5, 5.7}, kTreePci = {2.0, 2.5, 4.0};
constexpr double kNvlsNvlink = 25;
constexpr double kPatBase = 8, kPatNet = 14;
// What a hop with LL costs more on NVLink 5: 8 x B200 take 25.5 us for a 1 KiB all-reduce (14 hops)
// and 16.4 us for an all-gather (7 hops), so 1.3 us a hop where NCCL has 0.6.
constexpr double kBlackwellLlHop = 0.7;
// A hop over InfiniBand. NCCL has 5/8.5/14 (tree) and 2.7/4/14 (ring). Two nodes of A100, H100,
// B200 show 6-8 us with LL (1 KiB) and 16-25 us with LL128 (1 MiB: 82-93 us), for the proxy that
// posts each message serves all channels of its GPU.
constexpr ByProtocol kNetHop = {6.5, 18, 14};
// What the proxy needs per ring step on several nodes (NCCL_NET_OVERHEAD's default, between Intel's
// 1 and AMD's 2 us; three times that for Simple). 2 x 8 B200 need as much with LL128: 119 us for an
// all-gather of 4 MiB to 64 MiB beyond its bytes.
constexpr ByProtocol kNetOverhead = {1.5, 1.5, 4.5}, kNetOverheadBlackwell = {1.5, 4.5, 4.5};
// A ring all-reduce over several nodes runs into a plateau (tuning.cc:593).
constexpr double kPlateau = 1.4, kPlateauOld = 1.9;
// NVLSTree over the network, per level and direction: NCCL has 20.9 us. 2 x 8 H100 and B200 over
// InfiniBand keep 115-125 us beyond bytes and fill at every size, which is 25 us inside and 45 a
// hop.
constexpr double kNvlsTreeNet = 45;

// Bandwidths. LL carries 4 of 8 bytes as flags and is bound by the SMs (GB/s: tuning.cc, one node
// by GPU, several by CPU: the mean of AMD's and Intel's rows for two and for more nodes).
constexpr std::array<double, 7> kLlNode = {39, 39, 87.7, 87.7, 141, 282, 87.7};
constexpr double kLlTwoNodes = 30.7, kLlNodes = 19.7;
constexpr double kLl128Share = 0.92;  // 120 of 128 bytes are data
// Measured shares below that. 8 x A100: all-reduce of 64 and 128 MiB runs at 185 of 241 GB/s, until
// NCCL leaves LL128. B200: all-gather of 64 MiB at 524 of 660 GB/s on one node, 178 of 308 on two.
constexpr double kLl128Ampere = 0.77, kLl128Blackwell = 0.80, kLl128BlackwellNet = 0.58;
constexpr double kTreeShare = 0.92, kTreeLl128Node = 7.0 / 9, kTreeLl128Net = 120.0 / 128;
constexpr double kTreeLl = 1 / 3.8;
constexpr double kPatShare = 0.75;
// What one channel of a tree carries at most, GB/s on one, two and more islands
// (tuning.cc:160-199).
constexpr std::array<std::array<double, 3>, 7> kTreeChannel = {{
    {26.5, 18.5, 10.0},
    {24.0, 23.6, 17.8},
    {24.0, 23.6, 17.8},
    {24.0, 23.6, 17.8},
    {38.7, 41.4, 36.0},
    {70.0, 42.8, 24.0},
    {24.0, 23.6, 17.8},
}};
// The search settles on 40 of 50 GB/s per NIC for Blackwell's rings over NDR (speeds 96, 48, 45.1,
// 42, 40 in search.cc): 2 x 8 B200 gather at 308 GB/s where NVLSTree draws 383 from the same NICs.
constexpr double kBlackwellNetRing = 0.80;

// Simple on NVLink 3 reads its peer's memory, so a slice ends with a round trip that nothing hides;
// later links write. Single-node A100 rings are 100-200 us over NCCL's estimate from 16 MiB up.
constexpr double kReadSlice = 3.5;
constexpr double kRingChunk = 2 * kMiB, kSlicesOfChunk = 2;

// NVLS: a chunk of every head on every channel is one wave. 8 x B200 all-reduce at 202, 280, 423
// and 484 GB/s with chunks of 16, 32, 64 and 128 KiB, which is 565 GB/s and 7.5 us a wave.
constexpr double kNvlsChunkCost = 7.5;
// With the network behind it: 2 x 8 H100 250 GB/s where one node reaches 274.
constexpr double kNvlsTreeChunkCost = 13;
// Waves until scatter, reduce, broadcast and gather all run; and per level of the tree of nodes: 2
// racks of GB200 keep 1.3 waves, 20 racks 7 (4.3 levels), every one of the 72 ranks counted as a
// head though NCCL has 32 at most.
constexpr double kNvlsFill = 2, kNvlsTreeFill = 1.4;

// Tree: trees sag in the middle; powers of two from 64 B to 256 MiB (tuning.cc:578).
constexpr int kDips = 24;
constexpr std::array<std::array<double, kDips>, kProtocols> kTreeDip = {{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};

int FloorLog2(int value) { return std::bit_width(static_cast<unsigned>(value)) - 1; }

double TreeDip(Protocol protocol, int power) {
  const int step = std::max(0, power - 6);
  return step < kDips ? kTreeDip[static_cast<std::size_t>(protocol)][static_cast<std::size_t>(step)]
                      : 1;
}

// enqueue.cc:1977-2085: larger chunks once there are enough of them to fill the pipeline.
double NvlsChunk(double bytes, double unit) {
  if (bytes >= 64 * unit * 128 * kKiB) return 128 * kKiB;
  if (bytes >= 8 * unit * 64 * kKiB) return 64 * kKiB;
  if (bytes >= 2 * unit * 32 * kKiB) return 32 * kKiB;
  return 16 * kKiB;
}
double NvlsTreeChunk(double bytes, double unit, double most) {
  if (bytes >= 4 * unit * 128 * kKiB) return most;
  if (bytes >= unit * 64 * kKiB) return 64 * kKiB;
  return 32 * kKiB;
}

// Everything that the lines of one family need, in seconds and bytes per second.
class Builder {
 public:
  Builder(Family family, const Paths& paths, bool ll128)
      : family_(family), paths_(paths), ll128_(ll128) {
    const Reach& reach = paths.reach;
    ranks_ = reach.ranks;
    islands_ = reach.islands;
    inner_ = reach.per_island;
    net_ = reach.crosses_islands();
    steps_ = family == Family::kAllReduce ? 2 * (ranks_ - 1)
             : family == Family::kGather  ? ranks_ - 1
                                          : ranks_;
    blackwell_ = paths.architecture == Architecture::kBlackwell && paths.nvlink;
    levels_ = FloorLog2(std::max(1, islands_));
  }

  Line Ring(Protocol protocol) const {
    const auto p = static_cast<std::size_t>(protocol);
    Line line{.algorithm = Algorithm::kRing, .protocol = protocol};
    double intra = Intra(kRingNvlink, kRingPci, p);
    int net_steps = 0;
    if (net_) {
      intra = std::max(intra, (blackwell_ ? kNetOverheadBlackwell : kNetOverhead)[p]);
      net_steps = family_ == Family::kAllReduce ? 2 * (islands_ - 1)
                  : family_ == Family::kGather  ? islands_ - 1
                                                : islands_;
    }
    line.latency = kRingBase[p] * kMicrosecond + (steps_ - net_steps) * intra * kMicrosecond +
                   net_steps * NetHop(protocol);
    if (net_ && family_ == Family::kAllReduce && protocol == Protocol::kSimple)
      line.latency *= paths_.architecture < Architecture::kAmpere ? kPlateauOld : kPlateau;
    const double bus = RingBandwidth(protocol);
    line.inverse_bandwidth = static_cast<double>(steps_) / ranks_ / bus;
    if (protocol == Protocol::kSimple && ll128_) line.least_bytes = SimpleFrom(net_steps);
    if (family_ == Family::kRooted) {
      // Each rank passes on the whole message, with Simple in chunks of one slot of the FIFO.
      line.wave_unit = protocol == Protocol::kSimple ? paths_.channels : 0;
      line.fill_waves = std::max(0, ranks_ - 2);
    } else if (protocol == Protocol::kSimple && !net_ && paths_.nvlink &&
               paths_.architecture == Architecture::kAmpere) {
      line.latency += steps_ * kSlicesOfChunk * kReadSlice * kMicrosecond;
      line.inverse_bandwidth += steps_ * kSlicesOfChunk * kReadSlice * kMicrosecond /
                                (paths_.channels * ranks_ * kRingChunk);
    }
    return line;
  }

  Line Tree(Protocol protocol) const {
    const auto p = static_cast<std::size_t>(protocol);
    Line line{.algorithm = Algorithm::kTree, .protocol = protocol, .tree_dip = true};
    line.latency = kTreeBase[p] * kMicrosecond +
                   2 * ((inner_ - 1) * Intra(kTreeNvlink, kTreePci, p) * kMicrosecond +
                        levels_ * NetHop(protocol));
    double bus = paths_.ring * kTreeShare;
    if (net_) {
      // Two ranks of a pair swap halves; an inner node of a larger double tree sends twice as much.
      const double through = 2 * paths_.net / (islands_ > 2 ? 2 : 1);
      bus = inner_ > 1 ? std::min(bus, through) : through;
    }
    const auto scale = static_cast<std::size_t>(std::min(islands_, 3) - 1);
    const double channel = kTreeChannel[static_cast<std::size_t>(paths_.architecture)][scale];
    bus = std::min(bus, channel * 1e9 * paths_.graph_channels);
    if (protocol == Protocol::kLl) bus = std::min(bus * kTreeLl, LlLimit());
    if (protocol == Protocol::kLl128)
      bus *= (net_ ? kTreeLl128Net : kTreeLl128Node) * Ll128() / kLl128Share;
    line.inverse_bandwidth = 2 / bus;
    return line;
  }

  Line Nvls() const {
    Line line{.algorithm = Algorithm::kNvls};
    line.latency = kNvlsNvlink * kMicrosecond;
    line.inverse_bandwidth = NvlsInverse();
    line.wave_unit = paths_.nvls_channels * inner_;
    line.wave_cost = kNvlsChunkCost * kMicrosecond;
    line.fill_waves = kNvlsFill;
    return line;
  }

  Line NvlsTree() const {
    Line line{.algorithm = Algorithm::kNvlsTree, .tree_chunks = true};
    line.latency = kNvlsNvlink * kMicrosecond +
                   2 * levels_ * (kNvlsTreeNet * kMicrosecond + 2 * paths_.net_latency);
    // With more than two islands the inner nodes of the tree handle their data twice.
    const double twice = islands_ > 2 ? 2 : 1;
    line.inverse_bandwidth = twice * NvlsInverse();
    line.wave_bandwidth_bound = twice / paths_.net;
    line.wave_unit = paths_.nvls_channels * inner_;
    line.wave_cost = kNvlsTreeChunkCost * kMicrosecond;
    line.fill_waves = kNvlsTreeFill * levels_;
    return line;
  }

  Line Pat() const {
    Line line{.algorithm = Algorithm::kPat};
    const double hop = kPatNet * kMicrosecond + 2 * paths_.net_latency;
    line.latency = (kPatBase + 2.8 * ranks_) * kMicrosecond + levels_ * hop / 3.5;
    line.inverse_bandwidth = (ranks_ - 1.0) / ranks_ / (kPatShare * paths_.net);
    return line;
  }

 private:
  // Microseconds of a hop inside the island.
  double Intra(const ByProtocol& nvlink, const ByProtocol& pci, std::size_t protocol) const {
    if (!paths_.nvlink) return pci[protocol];
    return nvlink[protocol] + (blackwell_ && protocol == 0 ? kBlackwellLlHop : 0);
  }

  double NetHop(Protocol protocol) const {
    // Simple also waits for the flush of received data.
    const double extra = paths_.net_latency * (protocol == Protocol::kSimple ? 2 : 1);
    return kNetHop[static_cast<std::size_t>(protocol)] * kMicrosecond + extra;
  }

  double LlLimit() const {
    if (!net_) return kLlNode[static_cast<std::size_t>(paths_.architecture)] * 1e9;
    return (islands_ == 2 ? kLlTwoNodes : kLlNodes) * 1e9;
  }

  // Message size from which NCCL's own estimate prefers a ring with Simple to one with LL128,
  // whether or not that is right. Its estimate, with the search's speeds, so that a what-if on
  // bandwidth does not move the choice.
  double SimpleFrom(int net_steps) const {
    constexpr std::size_t kLl128 = 1, kSimple = 2;
    constexpr ByProtocol kNetOfNccl = {2.7, 4.0, 14};
    const auto latency = [&](std::size_t p) {
      const double intra = paths_.nvlink ? kRingNvlink[p] : kRingPci[p];
      return kRingBase[p] + net_steps * kNetOfNccl[p] +
             (steps_ - net_steps) * (net_ ? std::max(intra, kNetOverhead[p]) : intra);
    };
    const double plateau = net_ && family_ == Family::kAllReduce ? kPlateau : 1;
    const double saved = (latency(kSimple) * plateau - latency(kLl128)) * kMicrosecond;
    const double algorithm_bandwidth = paths_.graph_bandwidth * ranks_ / steps_;
    return std::max(0.0, saved) * algorithm_bandwidth * kLl128Share / (1 - kLl128Share);
  }

  double Ll128() const {
    if (blackwell_) return net_ ? kLl128BlackwellNet : kLl128Blackwell;
    if (paths_.architecture == Architecture::kAmpere && paths_.nvlink && !net_) return kLl128Ampere;
    return kLl128Share;
  }

  double RingBandwidth(Protocol protocol) const {
    double bus = paths_.ring;
    if (net_) {
      const double net = paths_.net * (blackwell_ && inner_ > 1 ? kBlackwellNetRing : 1);
      bus = inner_ > 1 ? std::min(bus, net) : net;
    }
    if (protocol == Protocol::kLl) return std::min(bus * 0.5, LlLimit());
    if (protocol == Protocol::kLl128) return bus * Ll128();
    return bus;
  }

  // In-switch reduction: each GPU lets its data be read once and sends the n-th part that it
  // reduces.
  double NvlsInverse() const { return (1 + 1.0 / inner_) / paths_.nvls_wire; }

  Family family_;
  const Paths& paths_;
  int ranks_ = 2, islands_ = 1, inner_ = 2, steps_ = 1, levels_ = 0;
  bool net_ = false, blackwell_ = false, ll128_ = false;
};

bool Has(std::uint8_t bits, int index) { return ((bits >> index) & 1) != 0; }

// Calls `add` for each allowed line that exists on these paths.
template <class Add>
void ForEachLine(Family family, const Paths& paths, const Allowed& allowed, Add add) {
  const auto add_allowed = [&](const Line& line) {
    if (Has(allowed.algorithms, static_cast<int>(line.algorithm)) &&
        Has(allowed.protocols, static_cast<int>(line.protocol)))
      add(line);
  };
  const bool ll128 = paths.ll128 && Has(allowed.protocols, static_cast<int>(Protocol::kLl128));
  const Builder builder(family, paths, ll128);
  for (Protocol protocol : {Protocol::kLl, Protocol::kLl128, Protocol::kSimple}) {
    if (protocol == Protocol::kLl128 && !ll128) continue;
    add_allowed(builder.Ring(protocol));
    if (family == Family::kAllReduce) add_allowed(builder.Tree(protocol));
  }
  if (family == Family::kAllReduce && paths.nvls)
    add_allowed(paths.reach.crosses_islands() ? builder.NvlsTree() : builder.Nvls());
  if (family == Family::kGather && paths.pat) add_allowed(builder.Pat());
}
}  // namespace

double Line::At(int power) const {
  const double bytes = static_cast<double>(std::uint64_t{1} << power);
  if (bytes < least_bytes) return std::numeric_limits<double>::infinity();
  if (wave_unit <= 0) {
    if (!tree_dip) return latency + bytes * inverse_bandwidth;
    return latency + bytes * inverse_bandwidth / TreeDip(protocol, power);
  }
  double chunk = 512 * kKiB;
  if (algorithm == Algorithm::kNvls) chunk = NvlsChunk(bytes, wave_unit);
  if (tree_chunks)
    chunk = NvlsTreeChunk(bytes, wave_unit, fill_waves > kNvlsTreeFill ? 64 * kKiB : 128 * kKiB);
  const double wave = wave_unit * chunk;
  const double inverse = std::max(inverse_bandwidth + wave_cost / wave, wave_bandwidth_bound);
  return latency + (bytes + fill_waves * std::min(bytes, wave)) * inverse;
}

int ChannelsFor(double bytes, Protocol protocol, int most) {
  // enqueue.cc:1865-1905: fewer channels while one would carry less than this.
  constexpr std::array<double, kProtocols> kThreads = {512, 640, 512};
  constexpr std::array<double, kProtocols> kBytesPerThread = {8, 8, 64};
  const auto p = static_cast<std::size_t>(protocol);
  const double least = kThreads[p] * kBytesPerThread[p];
  return std::clamp(static_cast<int>(std::min(bytes / least, 64.0)), 1, most);
}

Lines LinesOf(Family family, const Paths& paths, const NcclKnobs& knobs) {
  Lines lines;
  const auto add = [&](const Line& line) { lines.Add(line); };
  ForEachLine(family, paths, knobs.allowed[static_cast<std::size_t>(family)], add);
  if (lines.count == 0) ForEachLine(family, paths, Allowed(), add);
  return lines;
}
}  // namespace shardplan
