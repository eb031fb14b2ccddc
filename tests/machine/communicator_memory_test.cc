// SPDX-License-Identifier: Apache-2.0
// Examples of NCCL 2.28.9, in MiB per rank.
#include <gtest/gtest.h>

#include "planner/machine/collective.h"
#include "tests/machine/machines.h"

namespace shardplan {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): they hold literals alone

double MiB(Bytes bytes) { return bytes / 1_MiB; }

TEST(CommunicatorMemory, EightH100) {
  const Communicator communicator(DgxH100(), {.ranks = 8});
  EXPECT_EQ(MiB(communicator.InitMemory()), 230);
  EXPECT_EQ(MiB(communicator.Memory(false)), 774);           // + ring 288 + NVLS 256
  EXPECT_EQ(MiB(communicator.Memory(true)), 230 + 7 * 384);  // + 32 channels to 7 peers
}

TEST(CommunicatorMemory, FewerP2pChannelsTakeLess) {
  const Machine machine = With(DgxH100(), "NCCL_MAX_P2P_NCHANNELS", "8");
  const Communicator communicator(machine, {.ranks = 8});
  EXPECT_EQ(MiB(communicator.Memory(true) - communicator.InitMemory()), 672);
}

TEST(CommunicatorMemory, EightCtas) {
  const Communicator communicator(With(DgxH100(), "NCCL_MAX_CTAS", "8"), {.ranks = 8});
  EXPECT_EQ(MiB(communicator.Memory(false)), 294);
}

TEST(CommunicatorMemory, WithoutNvls) {
  const Communicator communicator(With(DgxH100(), "NCCL_NVLS_ENABLE", "0"), {.ranks = 8});
  EXPECT_EQ(MiB(communicator.Memory(false)), 4 + 6 * 32 + 12 * 24);
}

TEST(CommunicatorMemory, FourA100KeepARingOf288) {
  Machine machine = Dgx(Architecture::kAmpere, 1);
  machine.gpus_per_node = machine.scale_up_domain = 4;
  const Communicator communicator(machine, {.ranks = 4});
  EXPECT_EQ(MiB(communicator.Memory(false) - communicator.InitMemory()), 288);
}

TEST(CommunicatorMemory, PcieBoxWithPeerAccess) {
  EXPECT_EQ(MiB(Communicator(PcieBox(4, 4, true), {.ranks = 4}).Memory(false)), 40);
}

TEST(CommunicatorMemory, SharedMemoryLiesOnTheHost) {
  const Communicator communicator(PcieBox(4, 4, false), {.ranks = 4});
  EXPECT_EQ(communicator.Memory(false), communicator.InitMemory());
}

TEST(CommunicatorMemory, ASingleRankStillOpensSixtyFourChannels) {
  EXPECT_EQ(MiB(Communicator(DgxH100(), {.ranks = 1}).Memory(false)), 388);
}

TEST(CommunicatorMemory, BufferSizeMovesTheFifo) {
  for (const auto& [buffer, pair] : {std::pair("1048576", 10), std::pair("2097152", 10),
                                     std::pair("8388608", 16), std::pair("16777216", 24)}) {
    Machine machine = With(DgxH100(), "NCCL_NVLS_ENABLE", "0");
    const Communicator communicator(With(machine, "NCCL_BUFFSIZE", buffer), {.ranks = 8});
    EXPECT_EQ(MiB(communicator.Memory(false) - communicator.InitMemory()), 24 * pair) << buffer;
  }
}

TEST(CommunicatorMemory, EagerConnectionTakesAllFromTheStart) {
  const Communicator lazy(DgxH100(), {.ranks = 8});
  const Communicator eager(With(DgxH100(), "NCCL_RUNTIME_CONNECT", "0"), {.ranks = 8});
  EXPECT_EQ(eager.InitMemory(), lazy.Memory(false));
  EXPECT_EQ(eager.Memory(false), lazy.Memory(false));
}

// The pool towards NICs does not grow with the number of peers behind them.
TEST(CommunicatorMemory, NetPoolIsSharedByAllPeers) {
  const Communicator two(DgxH100(2), {.ranks = 2, .stride = 8});
  const Communicator many(DgxH100(64), {.ranks = 64, .stride = 8});
  EXPECT_EQ(two.Memory(true), many.Memory(true));
  EXPECT_GT(two.Memory(true), two.InitMemory());
}
}  // namespace
}  // namespace shardplan
