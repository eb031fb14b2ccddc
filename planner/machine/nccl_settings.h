// SPDX-License-Identifier: Apache-2.0
// The NCCL_* variables that change predicted time or memory, as values. All others are ignored.
#pragma once
#include <array>
#include <cstdint>

#include "planner/base/quantity.h"
#include "planner/machine/machine.h"

namespace shardplan {

enum class Algorithm : std::uint8_t { kTree, kRing, kNvls, kNvlsTree, kPat, kPointToPoint };
enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
inline constexpr int kAlgorithms = 6, kProtocols = 3;
// Operations that choose among algorithms together: all_gather and reduce_scatter, broadcast and
// reduce cost the same.
enum class Family : std::uint8_t { kAllReduce, kGather, kRooted };
inline constexpr int kFamilies = 3;

// A bit per Algorithm or Protocol that NCCL_ALGO and NCCL_PROTO leave.
struct Allowed {
  std::uint8_t algorithms = 0xff, protocols = 0xff;
};

struct NcclKnobs {
  std::array<Allowed, kFamilies> allowed;           // NCCL_ALGO, NCCL_PROTO
  bool nvls = true;                                 // NCCL_NVLS_ENABLE
  bool ll128_forced = false;                        // LL128 named in NCCL_PROTO, supported or not
  bool pat = true;                                  // NCCL_PAT_ENABLE
  bool peer_to_peer = true;                         // NCCL_P2P_DISABLE
  bool gpu_direct = true;                           // NCCL_NET_GDR_LEVEL=LOC turns it off
  bool lazy_connect = true;                         // NCCL_RUNTIME_CONNECT and NCCL_CUMEM_ENABLE
  bool sockets = false;                             // NCCL_IB_DISABLE
  int min_channels = 0, max_channels = 64;          // NCCL_MIN/MAX_CTAS, NCCL_MIN/MAX_NCHANNELS
  int nvls_channels = 0;                            // NCCL_NVLS_NCHANNELS; 0: by architecture
  int min_p2p_channels = 1, max_p2p_channels = 64;  // NCCL_MIN/MAX_P2P_NCHANNELS
  int channels_per_net_peer = 0;                    // NCCL_NCHANNELS_PER_NET_PEER; 0: 2
  Bytes buffer{4 << 20};                            // NCCL_BUFFSIZE
  Bytes net_chunk{128 << 10};                       // NCCL_P2P_NET_CHUNKSIZE
};

// A value that does not parse leaves the default, as NCCL itself does.
NcclKnobs KnobsOf(const NcclSettings& settings);
}  // namespace shardplan
