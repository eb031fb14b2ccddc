// SPDX-License-Identifier: Apache-2.0
#include "planner/machine/nccl_p2p.h"

#include <algorithm>
#include <array>

namespace shardplan {
namespace {

constexpr double kMicrosecond = 1e-6;
constexpr double kKiB = 1024;

// GB/s of one channel, which is one CTA copying with Simple. In the order of Architecture. 8 x
// A100: 110.8 GB/s on 8 channels; 8 x B200: 84.6 on 4, 168 on 8, 332 on 16 (NCCL 2.28.9). The
// others by the SMs' clocks.
constexpr std::array<double, 7> kChannelRate = {13.5, 13.5, 13.9, 19, 19.4, 21.2, 15};
// With LL: 256 KiB on 4 channels of a B200 in 13 us.
constexpr double kLlShare = 4.9 / 21.2;
// Launch and one hop: 8 x B200, 1 KiB: 9.4 us, and 1.7 us less on older links (LL hop 0.6 us).
constexpr double kLaunch = 7.3, kHopNvlink = 0.6, kHopPci = 1.0, kHopBlackwell = 1.3;
// What Simple costs beyond LL: 1 MiB to 16 MiB between B200s take 14 us more than their bytes.
constexpr double kSimple = 5;
// Each peer of an all-to-all beyond the first: 16 MiB and 64 MiB on 8 x B200 take 26-36 us more.
constexpr double kSimplePeer = 2;
// Over a NIC: 2 x 8 B200 take 15.3 us for 1 KiB. Each remote peer of an all-to-all costs the proxy
// a post and a completion: 38 us with 8 of them.
constexpr double kNetHop = 8, kNetPeer = 3;
// A channel keeps one message of a chunk in flight: 128 KiB every 12.4 us, of which 2.7 are the
// NIC's (2 x 8 B200: 19.7 GB/s in send_recv and 22.6 in all_to_all, two channels, where the NIC has
// 48).
constexpr double kNetTurnaround = 9.7;
// Without GPUDirect both sides copy through host memory: 2 nodes x 1 A40 take 31-34 us for 1 KiB.
constexpr double kNetHostCopy = 16;

// enqueue.cc:791-915.
constexpr double kChunkNvlink = 512 * kKiB;  // on one node, all GPUs linked
constexpr double kChunkPci = 128 * kKiB;     // elsewhere
constexpr double kLlPerChannel = 16 * kKiB;  // NCCL_P2P_LL_THRESHOLD
constexpr double kMostChunks = 32;           // of one channel before another joins
double Simple(int peers) { return (kSimple + kSimplePeer * (peers - 1)) * kMicrosecond; }

// Bytes per second of one rank over NICs that give it `rate`.
double NetRate(double rate, int channels, double chunk) {
  return std::min(rate, channels * chunk / (kNetTurnaround * kMicrosecond + chunk / rate));
}
}  // namespace

P2pEngine::P2pEngine(const Paths& paths, const NcclKnobs& knobs) {
  const auto architecture = static_cast<std::size_t>(paths.architecture);
  ranks_ = paths.reach.ranks;
  islands_ = paths.reach.islands;
  inner_ = paths.reach.per_island;
  const bool blackwell = paths.architecture == Architecture::kBlackwell;
  launch_ = kLaunch * kMicrosecond;
  hop_ = (!paths.nvlink ? kHopPci : blackwell ? kHopBlackwell : kHopNvlink) * kMicrosecond;
  net_hop_ =
      (kNetHop + (paths.gpu_direct ? 0 : kNetHostCopy)) * kMicrosecond + 2 * paths.net_latency;
  channel_rate_ = kChannelRate[architecture] * 1e9;
  per_pair_byte_ = 1 / paths.pair;
  channels_ = paths.p2p_channels;
  per_channel_ = 1.0 / channels_;
  per_peer_ = paths.p2p_per_peer;
  least_ = per_peer_;
  while (least_ > 1 && least_ * ranks_ > channels_) least_ /= 2;
  net_channels_ = std::min(channels_, paths.channels_per_net_peer);
  chunk_ = paths.nvlink && islands_ == 1 ? kChunkNvlink : kChunkPci;
  net_chunk_ = knobs.net_chunk.value;
  net_alone_ = NetRate(paths.net_rank, net_channels_, net_chunk_);
  net_share_ = NetRate(paths.net / inner_, net_channels_, net_chunk_);
}

int P2pEngine::ChannelsOf(double bytes) const {
  int channels = least_;
  const double most = kMostChunks * chunk_;
  while (channels < per_peer_ && bytes > most * channels) channels *= 2;
  return channels;
}

// Seconds that `peers` equal messages take inside an island. With several, the rank copies a part
// of its own beside them. A channel works for one message at a time.
double P2pEngine::Inside(double bytes_of_peer, int peers, P2pTime& time) const {
  const double wire = bytes_of_peer * peers * per_pair_byte_;
  const int parts = peers > 1 ? peers + 1 : 1;
  const auto rounds = [&](int channels) { return std::max(1.0, channels * parts * per_channel_); };
  if (bytes_of_peer <= kLlPerChannel * per_peer_) {
    time.protocol = Protocol::kLl;
    time.channels = std::min(channels_, least_ * parts);
    const double copy = bytes_of_peer / (least_ * channel_rate_) * rounds(least_);
    return std::max(wire, std::min(copy / kLlShare, Simple(peers) + copy));
  }
  const int channels = ChannelsOf(bytes_of_peer);
  time.protocol = Protocol::kSimple;
  time.channels = std::min(channels_, channels * parts);
  // The own part leaves its channels idle early, until messages are cut for all channels in turn.
  const double spared = parts > 1 ? (1 - static_cast<double>(least_) / channels) / parts : 0;
  const double copy = bytes_of_peer / (channels * channel_rate_) * rounds(channels) * (1 - spared);
  return Simple(peers) + std::max(wire, copy);
}

P2pTime P2pEngine::SendRecv(double bytes) const {
  P2pTime time;
  if (islands_ == 1) {
    time.seconds = launch_ + hop_ + Inside(bytes, 1, time);
    return time;
  }
  time.channels = net_channels_;
  // The first chunk is copied into a FIFO before its way on the wire, and out of one after it.
  const double fill = std::min(bytes, net_chunk_) / net_alone_;
  time.seconds = launch_ + net_hop_ + bytes / net_alone_ + fill;
  return time;
}

P2pTime P2pEngine::AllToAll(double bytes) const {
  P2pTime time;
  const double part = bytes / ranks_;
  double inside = hop_;
  if (inner_ > 1) inside += Inside(part, inner_ - 1, time);
  if (islands_ == 1) {
    // One hop more than send_recv: 8 x B200 take 11.1 us for 1 KiB and 9.4 us there.
    time.seconds = launch_ + hop_ + inside;
    return time;
  }
  const int remote = ranks_ - inner_;
  const double fill = 2 * std::min(part, net_chunk_) / net_share_;
  const double outside =
      net_hop_ + kNetPeer * remote * kMicrosecond + part * remote / net_share_ + fill;
  time.protocol = Protocol::kSimple;
  time.channels = channels_;
  time.seconds = launch_ + std::max(inside, outside);
  return time;
}
}  // namespace shardplan
