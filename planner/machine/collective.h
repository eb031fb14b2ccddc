// SPDX-License-Identifier: Apache-2.0
// Time of NCCL collectives over groups of ranks as they lie on the machine.
//
// NCCL's own cost model (latency and bandwidth per algorithm and protocol, NCCL 2.28
// graph/tuning.cc) over the machine's tiers, plus what that model leaves out: the pipeline's
// fill, the send/recv engine, several groups that share one NIC. Sizes follow nccl-tests: the
// per-rank buffer for all_reduce, broadcast, reduce, send_recv; the total over ranks for the
// others.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "planner/base/collective_op.h"
#include "planner/base/quantity.h"
#include "planner/machine/machine.h"
#include "planner/machine/topology.h"

namespace shardplan {

class MeasuredCurve;  // planner/machine/profile.h

struct CollectiveTime {
  Seconds time;
  std::string algorithm, protocol;  // "Ring", "NVLS", ...; "LL", "LL128", "Simple"
  int channels = 0;
};

// What NCCL would do with one group: computed once per group, then cheap to ask (nanoseconds, no
// allocation), which the search relies on.
//
// Times are computed at powers of two, where the best algorithm and its chunk sizes are chosen, and
// interpolated linearly between: exact where one algorithm serves both ends, and monotone always.
// Where the machine's profile measured the group, its times count (MeasuredCurve); the machine must
// then outlive the communicator.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Machine& machine, Group group);
  // Zero for a group of one rank and for no bytes. Monotone in `bytes`.
  // REQUIRES: bytes >= 0.
  Seconds Time(Collective op, Bytes bytes) const;
  CollectiveTime Explain(Collective op, Bytes bytes) const;
  // Channels that it occupies, each one of the GPU's multiprocessors; 0 for a group of one rank.
  int Channels(Collective op, Bytes bytes) const;
  // Device memory one rank gives to this communicator once `all_to_all`, resp. other collectives,
  // ran.
  Bytes Memory(bool all_to_all) const;
  // The same once a pipeline's sends and receives ran.
  Bytes PipelineMemory() const { return pipeline_memory_; }
  // From the start, before anything ran.
  Bytes InitMemory() const { return init_memory_; }
  bool Measured(Collective op) const { return measured_[static_cast<std::size_t>(op)] != nullptr; }
  Group group() const { return group_; }
  bool crosses_nodes() const { return crosses_nodes_; }

 private:
  // Powers of two from 256 B to 32 GiB.
  static constexpr int kLeastPower = 8, kPowers = 28;
  struct Choice {
    std::uint8_t algorithm = 0, protocol = 0, channels = 0;  // the most that may be used
  };
  struct Curve {
    std::array<float, kPowers> seconds{};
    std::array<Choice, kPowers> choice{};
  };
  // all_gather and reduce_scatter share a curve, broadcast and reduce too.
  enum CurveIndex { kReduceAll, kGathers, kRooteds, kExchanges, kPairs, kCurves };
  static constexpr CurveIndex CurveOf(Collective op);
  const Choice& ChoiceOf(Collective op, Bytes bytes) const;
  template <class At>
  void Sample(CurveIndex index, At at);

  Group group_;
  bool crosses_nodes_ = false;
  Bytes init_memory_, collective_memory_, exchange_memory_, pipeline_memory_;
  std::array<Curve, kCurves> curves_{};
  std::array<const MeasuredCurve*, kCollectives> measured_{};
};
}  // namespace shardplan
