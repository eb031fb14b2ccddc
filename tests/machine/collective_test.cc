// SPDX-License-Identifier: Apache-2.0
#include "planner/machine/collective.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <random>

#include "tests/machine/machines.h"

namespace shardplan {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): they hold literals alone

constexpr std::array<Collective, kCollectives> kAll = {
    Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
    Collective::kBroadcast, Collective::kReduce,    Collective::kAllToAll,
    Collective::kSendRecv};

constexpr std::array<Bytes, 13> kSizes = {1_KiB,  4_KiB,  16_KiB,  64_KiB, 256_KiB, 1_MiB, 4_MiB,
                                          16_MiB, 64_MiB, 256_MiB, 1_GiB,  4_GiB,   64_GiB};

// Machines and groups of every tier, drawn by seed.
struct Case {
  Machine machine;
  Group group;
};
Case RandomCase(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](int count) {
    return static_cast<int>(random() % static_cast<unsigned>(count));
  };
  constexpr std::array kArchitectures = {Architecture::kVolta, Architecture::kAmpere,
                                         Architecture::kHopper, Architecture::kBlackwell,
                                         Architecture::kCdna};
  Case c;
  const int nodes = 1 << pick(7);
  const int shape = pick(8);
  c.machine = shape == 0   ? Nvl72(1 + pick(8))
              : shape == 1 ? PcieBox(1 << pick(4), 3 + pick(4), pick(2) == 0)
                           : Dgx(kArchitectures[static_cast<std::size_t>(pick(5))], nodes);
  if (pick(3) == 0) c.machine.scale_out.oversubscription = 1 + pick(3);
  if (pick(4) == 0) c.machine.scale_out.nics = 1 << pick(4);
  if (pick(4) == 0) c.machine.nccl.nvls = false;
  const int gpus = c.machine.Gpus();
  do c.group.ranks = 1 << pick(10);
  while (c.group.ranks > std::max(1, gpus));
  do c.group.stride = 1 << pick(7);
  while (c.group.ranks * c.group.stride > std::max(1, gpus) && c.group.ranks > 1);
  return c;
}

double Microseconds(const Machine& machine, Group group, Collective op, Bytes bytes) {
  return Communicator(machine, group).Time(op, bytes).value * 1e6;
}
// Bus bandwidth of an all-reduce as nccl-tests prints it, GB/s.
double AllReduceBus(const Machine& machine, int ranks, Bytes bytes) {
  const Seconds time = Communicator(machine, {.ranks = ranks}).Time(Collective::kAllReduce, bytes);
  return 2.0 * (ranks - 1) / ranks * (bytes / time).value / 1e9;
}

TEST(Communicator, OneRankTakesNoTime) {
  const Communicator communicator(DgxH100(), {.ranks = 1});
  for (Collective op : kAll) EXPECT_EQ(communicator.Time(op, 1_GiB), 0_s);
  EXPECT_EQ(communicator.Explain(Collective::kAllReduce, 1_GiB).channels, 0);
}

TEST(Communicator, NoBytesTakeNoTime) {
  const Communicator communicator(DgxH100(), {.ranks = 8});
  for (Collective op : kAll) EXPECT_EQ(communicator.Time(op, 0_KiB), 0_s);
}

TEST(Communicator, TimeIsFiniteAndMonotoneInBytes) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Case c = RandomCase(seed);
    const Communicator communicator(c.machine, c.group);
    for (Collective op : kAll) {
      Seconds before;
      for (int step = 0; step < 105; ++step) {
        const double bytes = std::pow(1.3, step);
        const Seconds time = communicator.Time(op, {bytes});
        ASSERT_TRUE(std::isfinite(time.value)) << "seed " << seed << " bytes " << bytes;
        ASSERT_GE(time, before) << "seed " << seed << " op " << static_cast<int>(op) << " bytes "
                                << bytes;
        before = time;
      }
    }
  }
}

TEST(Communicator, MoreBandwidthIsNeverSlower) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Case c = RandomCase(seed);
    Case faster = c;
    if (seed % 2 == 0)
      faster.machine.scale_out.rate *= 1.5;
    else
      faster.machine.scale_up.bandwidth *= 1.5;
    const Communicator slow(c.machine, c.group), fast(faster.machine, c.group);
    for (Collective op : kAll)
      for (Bytes bytes : kSizes)
        ASSERT_LE(fast.Time(op, bytes).value, slow.Time(op, bytes).value * (1 + 1e-6))
            << "seed " << seed << " op " << static_cast<int>(op) << " bytes " << bytes.value;
  }
}

TEST(Communicator, LowerLatencyIsNeverSlower) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Case c = RandomCase(seed);
    Case later = c;
    later.machine.scale_out.latency += 20_us;
    const Communicator soon(c.machine, c.group), late(later.machine, c.group);
    for (Collective op : kAll)
      for (Bytes bytes : kSizes)
        ASSERT_LE(soon.Time(op, bytes), late.Time(op, bytes)) << "seed " << seed;
  }
}

// A ring all-reduce is a reduce-scatter and then an all-gather; what is saved is one launch.
TEST(Communicator, RingAllReduceIsReduceScatterThenAllGather) {
  Machine machine = With(DgxH100(), "NCCL_ALGO", "Ring");
  machine = With(machine, "NCCL_PROTO", "Simple");
  for (int ranks : {2, 4, 8}) {
    const Communicator communicator(machine, {.ranks = ranks});
    for (Bytes bytes : {16_MiB, 1_GiB}) {
      const Seconds halves = communicator.Time(Collective::kReduceScatter, bytes) +
                             communicator.Time(Collective::kAllGather, bytes);
      const Seconds whole = communicator.Time(Collective::kAllReduce, bytes);
      EXPECT_NEAR((halves - whole).value, 8.4e-6, 1e-7) << ranks << " ranks";
    }
  }
}

TEST(Communicator, WithoutNvlsLargeAllReducesAreSlower) {
  const Machine on = DgxH100(), off = With(on, "NCCL_NVLS_ENABLE", "0");
  for (Bytes bytes : {256_MiB, 1_GiB, 8_GiB}) {
    const double with = Microseconds(on, {.ranks = 8}, Collective::kAllReduce, bytes);
    const double without = Microseconds(off, {.ranks = 8}, Collective::kAllReduce, bytes);
    EXPECT_GT(without, with * 1.1);
  }
}

TEST(Communicator, ForcedAlgorithmsAreNeverFaster) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Case c = RandomCase(seed);
    const Communicator free(c.machine, c.group);
    for (const char* algorithm : {"Ring", "Tree", "NVLSTree"}) {
      const Communicator forced(With(c.machine, "NCCL_ALGO", algorithm), c.group);
      for (Bytes bytes : {64_KiB, 16_MiB, 1_GiB})
        ASSERT_LE(free.Time(Collective::kAllReduce, bytes),
                  forced.Time(Collective::kAllReduce, bytes))
            << "seed " << seed << ' ' << algorithm;
    }
  }
}

TEST(Communicator, ExplainNamesWhatRuns) {
  const Communicator communicator(DgxH100(), {.ranks = 8});
  const CollectiveTime small = communicator.Explain(Collective::kAllReduce, 1_KiB);
  EXPECT_EQ(small.algorithm + " " + small.protocol, "Ring LL");
  EXPECT_EQ(small.channels, 1);
  const CollectiveTime large = communicator.Explain(Collective::kAllReduce, 1_GiB);
  EXPECT_EQ(large.algorithm + " " + large.protocol, "NVLS Simple");
  EXPECT_EQ(large.channels, 16);
  EXPECT_EQ(communicator.Explain(Collective::kAllToAll, 1_GiB).algorithm, "P2P");
}

TEST(Communicator, PcieBoxesHaveNoLl128) {
  const Communicator communicator(PcieBox(4, 4, true), {.ranks = 4});
  for (Bytes bytes : kSizes)
    for (Collective op : kAll)
      EXPECT_NE(communicator.Explain(op, bytes).protocol, "LL128") << bytes.value;
}

// Eight groups, one rank of each in a node: each owns a rail, so all together draw what one draws
// that has the nodes for itself.
TEST(Communicator, GroupsOfOneRankPerNodeShareTheNics) {
  const Machine machine = DgxH100(16);
  const double rail =
      Microseconds(machine, {.ranks = 16, .stride = 8}, Collective::kAllGather, 8_GiB);
  EXPECT_NEAR(15.0 / 16 * 8 * 1.0737e9 / rail / 1e3, 50 * 0.955, 1.5);
  Machine half = machine;
  half.scale_out.nics = 4;
  EXPECT_NEAR(Microseconds(half, {.ranks = 16, .stride = 8}, Collective::kAllGather, 8_GiB),
              2 * rail, 0.02 * rail);
}

TEST(Communicator, OversubscriptionSlowsWhatLeavesTheNode) {
  Machine machine = DgxH100(4);
  machine.scale_out.oversubscription = 2;
  const Group across{.ranks = 4, .stride = 8}, inside{.ranks = 8};
  EXPECT_NEAR(Microseconds(machine, across, Collective::kAllReduce, 8_GiB) /
                  Microseconds(DgxH100(4), across, Collective::kAllReduce, 8_GiB),
              2, 0.05);
  EXPECT_EQ(Microseconds(machine, inside, Collective::kAllReduce, 8_GiB),
            Microseconds(DgxH100(4), inside, Collective::kAllReduce, 8_GiB));
}

// A mesh gives fewer links to fewer peers; a switch does not.
TEST(Communicator, MeshesSlowDownForFewRanks) {
  const Machine mesh = Dgx(Architecture::kCdna, 1);
  EXPECT_LT(AllReduceBus(mesh, 2, 8_GiB), AllReduceBus(mesh, 8, 8_GiB) / 5);
  EXPECT_NEAR(AllReduceBus(Dgx(Architecture::kAmpere, 1), 2, 8_GiB),
              AllReduceBus(Dgx(Architecture::kAmpere, 1), 8, 8_GiB), 10);
}

// ---- published measurements (NCCL 2.28.9), with what the model is good for ----

TEST(Anchors, EightH100AllReduce) {
  EXPECT_NEAR(AllReduceBus(DgxH100(), 8, 16_GiB), 478, 15);
  EXPECT_NEAR(AllReduceBus(With(DgxH100(), "NCCL_NVLS_ENABLE", "0"), 8, 1_GiB), 366, 15);
  EXPECT_NEAR(Microseconds(DgxH100(), {.ranks = 8}, Collective::kAllReduce, 16_MiB), 125, 20);
  EXPECT_NEAR(Microseconds(DgxH100(), {.ranks = 8}, Collective::kAllReduce, 1_KiB), 16.4, 3);
}

TEST(Anchors, EightA100AllReduce) {
  const Machine machine = Dgx(Architecture::kAmpere, 1);
  EXPECT_NEAR(AllReduceBus(machine, 8, 1_GiB), 229, 10);
}

TEST(Anchors, SeveralNodesOfH100AllReduce) {
  EXPECT_NEAR(AllReduceBus(DgxH100(2), 16, 8_GiB), 467, 15);
  EXPECT_NEAR(AllReduceBus(DgxH100(4), 32, 8_GiB), 365, 15);
  EXPECT_NEAR(Microseconds(DgxH100(2), {.ranks = 16}, Collective::kAllReduce, 1_KiB), 28, 4);
  EXPECT_NEAR(Microseconds(DgxH100(4), {.ranks = 32}, Collective::kAllReduce, 1_KiB), 38, 5);
}

TEST(Anchors, EightB200) {
  const Machine machine = Dgx(Architecture::kBlackwell, 1);
  const Group group{.ranks = 8};
  EXPECT_NEAR(AllReduceBus(machine, 8, 16_GiB), 843, 20);
  EXPECT_NEAR(Microseconds(machine, group, Collective::kAllReduce, 1_KiB), 25.5, 3);
  EXPECT_NEAR(Microseconds(machine, group, Collective::kAllReduce, 16_MiB), 107, 15);
  EXPECT_NEAR(Microseconds(machine, group, Collective::kAllGather, 1_GiB), 1486, 75);
  EXPECT_NEAR(Microseconds(machine, group, Collective::kAllToAll, 1_GiB), 1553, 80);
}

// Channels join as messages grow, so 64, 128 and 256 MiB take the same time.
TEST(Anchors, SendRecvStaircaseOfB200) {
  const Communicator communicator(Dgx(Architecture::kBlackwell, 1), {.ranks = 8});
  for (Bytes bytes : {64_MiB, 128_MiB, 256_MiB})
    EXPECT_NEAR(communicator.Time(Collective::kSendRecv, bytes).value * 1e6, 800, 40);
  EXPECT_EQ(communicator.Explain(Collective::kSendRecv, 64_MiB).channels, 4);
  EXPECT_EQ(communicator.Explain(Collective::kSendRecv, 512_MiB).channels, 32);
}

TEST(Anchors, AllToAllOverNodesRunsAtHalfANic) {
  const Machine machine = Dgx(Architecture::kBlackwell, 2);
  const double us = Microseconds(machine, {.ranks = 16}, Collective::kAllToAll, 1_GiB);
  EXPECT_NEAR(us, 23807, 2500);
  // The remedy that NVIDIA's maintainers name: larger chunks.
  EXPECT_LT(Microseconds(With(machine, "NCCL_P2P_NET_CHUNKSIZE", "524288"), {.ranks = 16},
                         Collective::kAllToAll, 1_GiB),
            us * 0.7);
}

TEST(Anchors, RacksOfNvl72AllReduce) {
  EXPECT_NEAR(AllReduceBus(Nvl72(), 72, 16_GiB), 835, 45);
  EXPECT_NEAR(AllReduceBus(Nvl72(2), 144, 16_GiB), 810, 40);
  EXPECT_NEAR(AllReduceBus(Nvl72(20), 1440, 16_GiB), 406, 40);
}

TEST(Anchors, PcieBoxes) {
  EXPECT_NEAR(AllReduceBus(PcieBox(4, 4, true), 4, 1_GiB), 25.3, 1.5);
  EXPECT_NEAR(AllReduceBus(PcieBox(8, 4, true), 8, 1_GiB), 12.2, 1.5);
}
}  // namespace
}  // namespace shardplan
