// SPDX-License-Identifier: Apache-2.0
// Time of NCCL's send/recv engine: send_recv, and all_to_all, which is one send to each peer.
//
// The engine has no tuner. A message is spread over a few channels, more as it grows, and each
// channel moves it at the pace of one CTA (inside an island) or of one message in flight (over a
// NIC); the links bound the sum. (NCCL 2.28 enqueue.cc:791-1057, paths.cc:808-890)
#pragma once
#include "planner/machine/nccl_paths.h"

namespace shardplan {

struct P2pTime {
  double seconds = 0;
  Protocol protocol = Protocol::kSimple;
  int channels = 1;
};

class P2pEngine {
 public:
  P2pEngine(const Paths& paths, const NcclKnobs& knobs);
  // Each rank sends `bytes` to the next and receives as much; the slowest pair decides.
  P2pTime SendRecv(double bytes) const;
  // Each rank holds `bytes` and sends an equal part to every rank.
  P2pTime AllToAll(double bytes) const;

 private:
  int ChannelsOf(double bytes) const;
  double Inside(double bytes_of_peer, int peers, P2pTime& time) const;

  double launch_ = 0, hop_ = 0, net_hop_ = 0;  // seconds
  double channel_rate_ = 0;                    // bytes per second of one channel with Simple
  double per_pair_byte_ = 0;                   // seconds that the links of one GPU need
  double net_alone_ = 0, net_share_ = 0;       // of a rank that alone sends out, of one among all
  double chunk_ = 0, net_chunk_ = 0;           // bytes
  int ranks_ = 1, islands_ = 1, inner_ = 1;
  double per_channel_ = 1;  // 1 / channels_
  int channels_ = 1, per_peer_ = 1, least_ = 1, net_channels_ = 2;
};
}  // namespace shardplan
