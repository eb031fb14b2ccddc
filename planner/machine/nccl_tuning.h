// SPDX-License-Identifier: Apache-2.0
// Lines of NCCL's tuning table, made true: the time of each algorithm and protocol over one group.
//
// NCCL estimates `latency + bytes / bandwidth` (2.28 graph/tuning.cc). That form and most of its
// constants stand here; what it leaves out is added where measurements show a cause: hops that cost
// more on newer links, the cost of each chunk, the fill of a pipeline of chunks.
#pragma once
#include <array>

#include "planner/machine/nccl_paths.h"
#include "planner/machine/nccl_settings.h"

namespace shardplan {

// One algorithm and protocol of one family of operations.
struct Line {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  double latency = 0;            // seconds
  double inverse_bandwidth = 0;  // seconds per byte of the message
  // Algorithms that move the message in waves of chunks over all channels at once.
  double wave_unit = 0;             // bytes of a wave per byte of chunk; 0: no waves
  double wave_cost = 0;             // seconds that each wave costs beside its bytes
  double wave_bandwidth_bound = 0;  // seconds per byte that no chunk size beats (the network)
  double fill_waves = 0;            // waves that pass before all stages work
  double least_bytes = 0;           // NCCL does not choose it for smaller messages
  bool tree_dip = false;            // NCCL's own correction of trees in the middle sizes
  bool tree_chunks = false;         // NVLSTree's chunk sizes rather than NVLS's

  // Seconds of 2^power bytes. Infinite below least_bytes; not necessarily monotone where chunk
  // sizes change.
  double At(int power) const;
};

struct Lines {
  std::array<Line, 8> line;
  int count = 0;
  void Add(const Line& added) { line[static_cast<std::size_t>(count++)] = added; }
};

// Channels (CTAs) that share so many bytes, of the `most` there are.
int ChannelsFor(double bytes, Protocol protocol, int most);

// All lines of a family that exist on these paths and that the settings allow. If they allow none,
// those that exist: NCCL stops with an error there, which a planner has no use for.
// REQUIRES: paths.reach.ranks >= 2.
Lines LinesOf(Family family, const Paths& paths, const NcclKnobs& knobs);
}  // namespace shardplan
