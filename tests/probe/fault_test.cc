// SPDX-License-Identifier: Apache-2.0
// Ranks that die, hang or are slow: every other rank ends in time and names the culprit.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "probe/monitor.h"
#include "tests/probe/ranks.h"

namespace shardplan::probe {
namespace {
using ::testing::HasSubstr;
using testing::Outcome;
using testing::Ranks;
using testing::Words;
using State = Beat::State;

std::string NameOf(int rank) { return "rank " + std::to_string(rank); }

TEST(FaultOf, NamesTheDeadBeforeTheSilentBeforeTheSlow) {
  const Limits limits{.silence = {10}, .operation = {60}};
  const Beat mine{.state = State::kAlive, .steps = 7, .doing = "all_reduce", .busy = {70}};
  std::vector<Beat> beats(4, mine);
  const auto fault = [&] {
    return FaultOf(beats, 0, mine, std::vector<Seconds>(4), limits, NameOf);
  };
  EXPECT_THAT(fault(), HasSubstr("no rank is behind"));
  beats[3].steps = 5;
  beats[3].doing = "filling";
  beats[3].busy = {80};
  EXPECT_THAT(fault(), HasSubstr("rank 3 is slow: for 80 s in: filling; rank 0 waited 70 s"));
  beats[2].age = {11};
  EXPECT_THAT(fault(), HasSubstr("rank 2 hangs: not heard of for 11 s"));
  beats[1].state = State::kGone;
  EXPECT_THAT(fault(), HasSubstr("rank 1 died; the last it did: all_reduce"));
  beats[3].state = State::kFaulted;
  beats[3].fault = "rank 1 died first";
  EXPECT_EQ(fault(), "rank 1 died first") << "what one rank found, all say";
}

TEST(FaultOf, IsSilentWhileAllIsWell) {
  const Limits limits{.silence = {10}, .operation = {60}};
  const Beat mine{.state = State::kAlive, .steps = 7, .busy = {59}};
  std::vector<Beat> beats(3, mine);
  beats[1].steps = 2;
  beats[2] = {.state = State::kDone, .age = {100}};
  EXPECT_EQ(FaultOf(beats, 0, mine, std::vector<Seconds>(3), limits, NameOf), "");
}

TEST(FaultOf, OfEquallyFarRanksTheOneThatAnswersLateIsSlow) {
  const Limits limits{.silence = {10}, .operation = {60}};
  const Beat mine{.state = State::kAlive, .steps = 7, .busy = {61}};
  const std::vector<Beat> beats(3, mine);
  EXPECT_THAT(FaultOf(beats, 0, mine, {{}, {0.2}, {3}}, limits, NameOf),
              HasSubstr("rank 2 is slow: silent for 3 s at times"));
}

class Faults : public ::testing::TestWithParam<int> {};

void ExpectAllName(Ranks& ranks, int size, int culprit, const std::string& what) {
  for (int rank = 0; rank < size; ++rank) {
    if (rank == culprit) continue;
    const Outcome outcome = ranks.Wait(rank);
    EXPECT_EQ(outcome.code, 1) << rank;
    EXPECT_THAT(outcome.err, HasSubstr("rank " + std::to_string(culprit) + " (host "));
    EXPECT_THAT(outcome.err, HasSubstr("pid " + std::to_string(ranks.pid(culprit)) + ")"));
    EXPECT_THAT(outcome.err, HasSubstr(what)) << rank;
  }
}

// Until they are all at work: the first point, quickly measured, is printed.
std::unique_ptr<Ranks> AtWork(const std::string& limits) {
  auto ranks = std::make_unique<Ranks>(
      4, Words("collectives --device=host --ops all_reduce,all_gather --sizes 4M --place=out "
               "--max-samples=1000000 --relative-error=0 --time-limit=1 --deadline=50 " +
               limits));
  EXPECT_TRUE(ranks->WaitForRecords(0, 1));
  return ranks;
}

TEST_P(Faults, AKilledRankIsNamed) {
  const auto ranks = AtWork("--silence-timeout=20");
  ranks->Signal(GetParam(), SIGKILL);
  ExpectAllName(*ranks, 4, GetParam(), "died");
}

TEST_P(Faults, AStoppedRankIsNamed) {
  const auto ranks = AtWork("--silence-timeout=1.5");
  ranks->Signal(GetParam(), SIGSTOP);
  ExpectAllName(*ranks, 4, GetParam(), "hangs: not heard of for");
  ranks->Signal(GetParam(), SIGCONT);
}

// Rank 0 holds the store; the others do not.
INSTANTIATE_TEST_SUITE_P(OfAnyRank, Faults, ::testing::Values(0, 2));

// It runs a twentieth of the time: never silent for long, and still everyone waits for it.
TEST(Fault, ASlowRankIsNamed) {
  Ranks ranks(3, Words("collectives --device=host --ops all_reduce --sizes 64K,256M --place=out "
                       "--max-samples=1 --min-samples=1 --no-check --deadline=50 "
                       "--operation-timeout=2 --silence-timeout=20"));
  ASSERT_TRUE(ranks.WaitForRecords(0, 1));
  std::atomic<bool> ended = false;
  std::thread brake([&] {
    while (!ended) {
      ranks.Signal(1, SIGSTOP);
      std::this_thread::sleep_for(std::chrono::milliseconds(950));
      ranks.Signal(1, SIGCONT);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  const std::string name = "rank 1 (host ";
  for (const int rank : {0, 2}) {
    const Outcome outcome = ranks.Wait(rank);
    EXPECT_EQ(outcome.code, 1) << rank;
    EXPECT_THAT(outcome.err, ::testing::AllOf(HasSubstr(name), HasSubstr(") is slow: ")));
  }
  ended = true;
  brake.join();
}

TEST(Fault, AMissingRankIsNamed) {
  Ranks ranks(2, Words("collectives --device=host --sizes 4K --join-timeout=1"));
  ranks.Signal(1, SIGSTOP);
  const Outcome outcome = ranks.Wait(0);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("rank 1 of 2 has not joined within 1 s"));
}

TEST(Fault, TheDeadlineEndsEveryRankAndSaysWhereItWas) {
  Ranks ranks(2, Words("collectives --device=host --ops all_reduce --sizes 4M --relative-error=0 "
                       "--max-samples=1000000 --time-limit=600 --deadline=2"));
  for (int rank = 0; rank < 2; ++rank) {
    const Outcome outcome = ranks.Wait(rank);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("the deadline of 2 s has passed in: "));
    EXPECT_THAT(outcome.err, HasSubstr("all_reduce of 4194304 bytes, fp32, 2 ranks"));
  }
}

TEST(Fault, AnInterruptEndsEveryRank) {
  const auto ranks = AtWork("");
  ranks->Signal(1, SIGINT);
  const Outcome interrupted = ranks->Wait(1);
  EXPECT_EQ(interrupted.code, 130);
  EXPECT_THAT(interrupted.err, HasSubstr("interrupted by Interrupt"));
  for (const int rank : {0, 2, 3}) {
    const Outcome outcome = ranks->Wait(rank);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("rank 1 (host "));
    EXPECT_THAT(outcome.err, HasSubstr("interrupted by Interrupt"));
  }
}

// The other ranks go on with the next point; whoever had no room says so.
TEST(Fault, OutOfMemoryIsARecordOfEachRankThatHadNoRoom) {
  Ranks ranks(2, Words("collectives --device=host --ops all_reduce --sizes 1048576G,4K --place out "
                       "--max-samples=1 --min-samples=1 --deadline=50"));
  for (int rank = 0; rank < 2; ++rank) {
    const Outcome outcome = ranks.Wait(rank);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto records = outcome.Records();
    ASSERT_EQ(records.size(), rank == 0 ? 2u : 1u);
    EXPECT_EQ(records[0]["metric"], "failed_allocation");
    EXPECT_EQ(records[0]["median"].get<double>(), 0x1p50);
  }
}
}  // namespace
}  // namespace shardplan::probe
