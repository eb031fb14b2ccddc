// SPDX-License-Identifier: Apache-2.0
#include "planner/machine/network.h"

#include <string>

#include "planner/base/check.h"

namespace shardplan {

using namespace literals;  // NOLINT(google-build-using-namespace): they hold literals alone

const std::array<NetworkKind, 7>& NetworkKinds() {
  static constexpr std::array<NetworkKind, 7> kKinds = {{
      // NCCL plans 48 of NDR's 50 GB/s; 2 x 8 B200 reach 47.9, 4 x 8 H100 47.2, HDR 24.4 of 25
      // (public nccl-tests points).
      {"infiniband", 0.955, 2_us},
      // GCP A4: 46.2 of 50 GB/s.
      {"roce", 0.925, 4_us},
      // AWS P6-B200: 49 of 50 GB/s on 4 nodes by NVLSTree's count; P5 generations lower. Latency:
      // 10-20 us.
      {"efa", 0.93, 13_us},
      // "DP over Omni-Path at half rate": the host copies (the BLOOM chronicles).
      {"omni-path", 0.5, 4_us},
      // NREL Kestrel, 16 x 4 H100, NCCL's CXI plugin: 46 of 100 GB/s per node.
      {"slingshot", 0.48, 5_us},
      // GCP a3-mega: 188 of 200 GB/s; 1 KiB all-reduce over 2 nodes 120 us later than InfiniBand's.
      {"tcpxo", 0.92, 58_us},
      // Sockets: two copies through the host (6-10 of 12.5 GB/s, 15-50 us).
      {"ethernet", 0.65, 30_us},
  }};
  return kKinds;
}

const NetworkKind* FindNetworkKind(std::string_view name) {
  for (const NetworkKind& kind : NetworkKinds())
    if (kind.name == name) return &kind;
  return nullptr;
}

ScaleOut NetworkOf(std::string_view kind, int nics, BytesPerSecond rate) {
  const NetworkKind* found = FindNetworkKind(kind);
  SHARDPLAN_CHECK(found != nullptr);
  ScaleOut out;
  out.kind = std::string(found->name);
  out.nics = nics;
  out.rate = rate;
  out.efficiency = found->efficiency;
  out.latency = found->latency;
  return out;
}
}  // namespace shardplan
