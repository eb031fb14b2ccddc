// SPDX-License-Identifier: Apache-2.0
#include "planner/machine/nccl_memory.h"

#include <algorithm>
#include <cmath>

namespace shardplan {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): they hold literals alone

// NCCL 2.28.9: device.h, init.cc, channel.cc, nvls.cc; cuMem rounds allocations to 2 MiB.
constexpr double kFifoMiB = 9.1875;  // LL, LL128 and a 4 MiB Simple buffer, whatever is used
constexpr double kDefaultBufferMiB = 4;
constexpr double kSendMiB = 2;        // head of a FIFO on the sender's side
constexpr double kCommMiB = 4;        // device communicator and rank table
constexpr double kChannelMiB = 6;     // three small allocations
constexpr double kNvlsCreditMiB = 2;  // and as much per channel
constexpr double kNvlsHeadMiB = 2;    // per channel and head, at 128 KiB chunks
constexpr int kMostHeads = 32;        // NCCL_MAX_NVLS_ARITY
constexpr double kNetDepth = 16;      // chunks per channel of the shared pool, each direction

Bytes MiB(double value) { return 1_MiB * value; }
double RoundUpToTwo(double mib) { return 2 * std::ceil(mib / 2 + 0.002); }
}  // namespace

CommunicatorMemory MemoryOf(const Paths& paths, const NcclKnobs& knobs) {
  const Reach& reach = paths.reach;
  const double buffer = knobs.buffer / 1_MiB;
  const double receive = RoundUpToTwo(kFifoMiB - kDefaultBufferMiB + buffer);
  const bool nvls = paths.nvls && paths.nvls_channels > 0;
  const bool net = reach.crosses_islands();

  CommunicatorMemory memory;
  const int channels =
      std::max({paths.channels, paths.p2p_channels, nvls ? paths.nvls_channels : 0});
  memory.init = MiB(kCommMiB + kChannelMiB * channels);
  if (nvls) memory.init += MiB(kNvlsCreditMiB + kNvlsCreditMiB * paths.nvls_channels);
  if (reach.ranks == 1) return memory;

  // Inside a node a ring's two ends are a head and a FIFO; without peer access both lie in host
  // memory. A NIC's two ends are two FIFOs, for those channels whose ring leaves the node here.
  const double pair = kSendMiB + receive;
  const bool on_device = paths.nvlink || paths.peers;
  const double inside = reach.per_island > 1 && on_device ? pair * paths.channels : 0;
  const double outside = net && paths.gpu_direct ? 2 * receive * paths.channels : 0;
  const double share = 1.0 / reach.per_island;
  memory.collectives = MiB(inside * (1 - (net ? share : 0)) + outside * share);
  // A tree has one more neighbour than a ring for some ranks; single nodes seldom use it.
  if (net) memory.collectives += MiB(inside / 2 + outside * share);
  if (nvls)
    memory.collectives +=
        MiB(kNvlsHeadMiB * paths.nvls_channels * std::min(reach.per_island, kMostHeads));

  const double peer = on_device ? pair * paths.p2p_per_peer : 0;
  const double pool = net ? 2 * paths.p2p_channels * kNetDepth * (knobs.net_chunk / 1_MiB) : 0;
  memory.all_to_all = MiB(peer * (reach.per_island - 1) + pool);
  if (!knobs.lazy_connect) {  // all but the FIFOs of sends inside a node
    memory.init += memory.collectives + MiB(pool);
    memory.collectives = {};
  }
  memory.neighbour = MiB(peer * std::min(2, reach.per_island - 1) + pool);
  return memory;
}
}  // namespace shardplan
