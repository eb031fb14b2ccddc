// SPDX-License-Identifier: Apache-2.0
#include "planner/machine/collective.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "planner/base/check.h"
#include "planner/machine/nccl_memory.h"
#include "planner/machine/nccl_p2p.h"
#include "planner/machine/nccl_paths.h"
#include "planner/machine/nccl_settings.h"
#include "planner/machine/nccl_tuning.h"
#include "planner/machine/profile.h"

namespace shardplan {
namespace {

// As NCCL_DEBUG prints them, in the order of Algorithm and Protocol.
constexpr std::array<const char*, kAlgorithms> kAlgorithmNames = {"Tree",     "Ring", "NVLS",
                                                                  "NVLSTree", "PAT",  "P2P"};
constexpr std::array<const char*, kProtocols> kProtocolNames = {"LL", "LL128", "Simple"};

double PowerOfTwo(int power) { return static_cast<double>(std::uint64_t{1} << power); }

// Position on the curve: which power of two, and how far towards the next.
struct Position {
  std::size_t power = 0;
  double beyond = 0;
};
template <int kLeast, int kCount>
Position PositionOf(double bytes) {
  constexpr double kSmallest = static_cast<double>(std::uint64_t{1} << kLeast);
  if (!(bytes > kSmallest)) return {};
  const auto bits = std::bit_cast<std::uint64_t>(bytes);
  const int power = std::min(static_cast<int>(bits >> 52) - 1023 - kLeast, kCount - 2);
  const double start =
      std::bit_cast<double>(static_cast<std::uint64_t>(power + kLeast + 1023) << 52);
  return {static_cast<std::size_t>(power), bytes / start - 1};
}
}  // namespace

constexpr Communicator::CurveIndex Communicator::CurveOf(Collective op) {
  switch (op) {
    case Collective::kAllReduce:
      return kReduceAll;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return kGathers;
    case Collective::kBroadcast:
    case Collective::kReduce:
      return kRooteds;
    case Collective::kAllToAll:
      return kExchanges;
    case Collective::kSendRecv:
      return kPairs;
  }
  return kReduceAll;
}

// Fills a curve from `at(power, choice)`. Where a smaller message would take longer than a larger
// one (chunks are larger there, say), it is taken to be as fast.
template <class At>
void Communicator::Sample(CurveIndex index, At at) {
  Curve& curve = curves_[index];
  for (std::size_t i = 0; i < kPowers; ++i)
    curve.seconds[i] = static_cast<float>(at(static_cast<int>(i) + kLeastPower, curve.choice[i]));
  for (std::size_t i = kPowers - 1; i-- > 0;)
    curve.seconds[i] = std::min(curve.seconds[i], curve.seconds[i + 1]);
}

Communicator::Communicator(const Machine& machine, Group group) : group_(group) {
  const Reach reach = ReachOf(machine, group);
  crosses_nodes_ = reach.crosses_nodes();
  const NcclKnobs knobs = KnobsOf(machine.nccl);
  const Paths paths = PathsOf(machine, reach, knobs);
  const CommunicatorMemory memory = MemoryOf(paths, knobs);
  init_memory_ = memory.init;
  collective_memory_ = memory.init + memory.collectives;
  exchange_memory_ = memory.init + memory.all_to_all;
  pipeline_memory_ = memory.init + memory.neighbour;
  if (group.ranks == 1) return;
  if (machine.profile)
    for (int op = 0; op < kCollectives; ++op)
      measured_[static_cast<std::size_t>(op)] =
          machine.profile->Find(static_cast<Collective>(op), group);

  for (const auto& [family, index] :
       {std::pair(Family::kAllReduce, kReduceAll), std::pair(Family::kGather, kGathers),
        std::pair(Family::kRooted, kRooteds)}) {
    const Lines lines = LinesOf(family, paths, knobs);
    Sample(index, [&](int power, Choice& choice) {
      double best = std::numeric_limits<double>::infinity();
      const Line* chosen = &lines.line[0];
      for (int i = 0; i < lines.count; ++i) {
        const Line& line = lines.line[static_cast<std::size_t>(i)];
        const double time = line.At(power);
        if (time < best) best = time, chosen = &line;
      }
      const bool nvls =
          chosen->algorithm == Algorithm::kNvls || chosen->algorithm == Algorithm::kNvlsTree;
      choice = {static_cast<std::uint8_t>(chosen->algorithm),
                static_cast<std::uint8_t>(chosen->protocol),
                static_cast<std::uint8_t>(nvls ? paths.nvls_channels : paths.channels)};
      return best;
    });
  }

  const P2pEngine engine(paths, knobs);
  const auto take = [](const P2pTime& time, Choice& choice) {
    choice = {static_cast<std::uint8_t>(Algorithm::kPointToPoint),
              static_cast<std::uint8_t>(time.protocol), static_cast<std::uint8_t>(time.channels)};
    return time.seconds;
  };
  Sample(kExchanges, [&](int power, Choice& choice) {
    return take(engine.AllToAll(PowerOfTwo(power)), choice);
  });
  Sample(kPairs, [&](int power, Choice& choice) {
    return take(engine.SendRecv(PowerOfTwo(power)), choice);
  });
}

Seconds Communicator::Time(Collective op, Bytes bytes) const {
  if (bytes.value <= 0) return {};
  const auto predicted = [&curve = curves_[CurveOf(op)]](Bytes size) {
    const auto [power, beyond] = PositionOf<kLeastPower, kPowers>(size.value);
    const double start = curve.seconds[power];
    return Seconds{start + (curve.seconds[power + 1] - start) * beyond};
  };
  const MeasuredCurve* measured = measured_[static_cast<std::size_t>(op)];
  return measured != nullptr ? measured->At(bytes, predicted) : predicted(bytes);
}

CollectiveTime Communicator::Explain(Collective op, Bytes bytes) const {
  CollectiveTime answer;
  answer.time = Time(op, bytes);
  if (group_.ranks == 1) return answer;
  const Choice& choice = ChoiceOf(op, bytes);
  answer.algorithm = kAlgorithmNames[choice.algorithm];
  answer.protocol = kProtocolNames[choice.protocol];
  answer.channels = Channels(op, bytes);
  return answer;
}

const Communicator::Choice& Communicator::ChoiceOf(Collective op, Bytes bytes) const {
  const auto [power, beyond] = PositionOf<kLeastPower, kPowers>(bytes.value);
  return curves_[CurveOf(op)].choice[beyond >= 1 ? power + 1 : power];
}

int Communicator::Channels(Collective op, Bytes bytes) const {
  if (group_.ranks == 1) return 0;
  const Choice& choice = ChoiceOf(op, bytes);
  return choice.algorithm == static_cast<std::uint8_t>(Algorithm::kPointToPoint)
             ? choice.channels
             : ChannelsFor(bytes.value, static_cast<Protocol>(choice.protocol), choice.channels);
}

Bytes Communicator::Memory(bool all_to_all) const {
  return all_to_all ? exchange_memory_ : collective_memory_;
}
}  // namespace shardplan
