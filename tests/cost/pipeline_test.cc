// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/pipeline.h"

#include <gtest/gtest.h>

#include <random>

namespace shardplan {
namespace {

constexpr StageTimes kEven{{1.0}, {2.0}};

Seconds Least(Schedule schedule, const std::vector<StageTimes>& stages, int vpp, int microbatches) {
  Seconds longest;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    Seconds before, after;
    for (std::size_t i = 0; i < stages.size(); ++i)
      (i < s   ? before
       : i > s ? after
               : longest) += i == s ? Seconds{} : stages[i].forward + stages[i].backward;
    longest =
        Max(longest, LeastPipelineTime(schedule, stages[s], before, after,
                                       static_cast<int>(stages.size() - 1 - s), vpp, microbatches));
  }
  return longest;
}

// Megatron (arXiv 2104.04473): m + p - 1 passes for 1F1B and GPipe, m + (p - 1) / v when
// interleaved.
TEST(Pipeline, EvenStagesTakeTheTextbookTime) {
  for (int p : {2, 4, 8})
    for (int m : {8, 16, 64}) {
      const std::vector<StageTimes> stages(static_cast<std::size_t>(p), kEven);
      for (Schedule schedule : {Schedule::k1F1B, Schedule::kGpipe}) {
        EXPECT_NEAR(SimulatePipeline(schedule, stages, {}, 1, m).value, 3.0 * (m + p - 1), 1e-9)
            << p << ' ' << m;
        EXPECT_NEAR(Least(schedule, stages, 1, m).value, 3.0 * (m + p - 1), 1e-9) << p << ' ' << m;
      }
      for (int v : {2, 4}) {
        EXPECT_NEAR(SimulatePipeline(Schedule::kInterleaved, stages, {}, v, m).value,
                    3.0 * (m + double(p - 1) / v), 1e-9)
            << p << ' ' << m << ' ' << v;
      }
    }
}

TEST(Pipeline, LeastIsNeverAboveWhatIsPlayedOut) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> time(0.1, 3);
    const int p = 1 + static_cast<int>(random() % 9), m = 1 + static_cast<int>(random() % 40);
    std::vector<StageTimes> stages;
    for (int s = 0; s < p; ++s) stages.push_back({{time(random)}, {time(random)}});
    for (Schedule schedule : {Schedule::k1F1B, Schedule::kGpipe, Schedule::kInterleaved}) {
      // Interleaving wants whole groups; what a rest costs is extended, not played.
      const int v = schedule == Schedule::kInterleaved ? 2 : 1,
                batches = v > 1 ? (m + p - 1) / p * p : m;
      if (batches > 4 * p) continue;
      EXPECT_LE(Least(schedule, stages, v, batches).value,
                SimulatePipeline(schedule, stages, {}, v, batches).value * (1 + 1e-12))
          << "seed " << seed << " schedule " << static_cast<int>(schedule);
    }
  }
}

// arXiv 2401.10241, with equal forward, input gradient and weight gradient: ZB-H1 leaves p - 1 of
// 1F1B's 3 (p - 1), ZB-V only the first forward's way down, whose chunks are half as long.
TEST(Pipeline, ZeroBubblesLeaveWhatThePaperSays) {
  for (int p : {2, 4, 8})
    for (int m : {8, 16, 32}) {
      const std::vector<StageTimes> stages(static_cast<std::size_t>(p), kEven);
      EXPECT_NEAR(SimulatePipeline(Schedule::kZbH1, stages, {}, 1, m).value, 3.0 * m + p - 1, 1e-9)
          << p << ' ' << m;
      EXPECT_NEAR(SimulatePipeline(Schedule::kZbV, stages, {}, 2, m).value, 3.0 * m + (p - 1) / 2.0,
                  1e-9)
          << p << ' ' << m;
    }
}

TEST(Pipeline, ZeroBubblesAreNeverBelowTheirBoundNorAboveOneForwardOneBackward) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> time(0.5, 2), ratio(2, 3);
    const int p = 2 + static_cast<int>(random() % 7), m = p + static_cast<int>(random() % 16);
    std::vector<StageTimes> stages;
    for (int s = 0; s < p; ++s) {
      const double forward = time(random);
      stages.push_back({{forward}, {forward * ratio(random)}});
    }
    const Seconds h1 = SimulatePipeline(Schedule::kZbH1, stages, {}, 1, m);
    EXPECT_LE(Least(Schedule::kZbH1, stages, 1, m).value, h1.value * (1 + 1e-12))
        << "seed " << seed;
    EXPECT_LE(Least(Schedule::kZbV, stages, 2, m).value,
              SimulatePipeline(Schedule::kZbV, stages, {}, 2, m).value * (1 + 1e-12))
        << "seed " << seed;
    EXPECT_LE(h1.value, SimulatePipeline(Schedule::k1F1B, stages, {}, 1, m).value * (1 + 1e-12))
        << "seed " << seed;
  }
}

TEST(Pipeline, TransfersOnlyAddTime) {
  const std::vector<StageTimes> stages(4, kEven);
  EXPECT_GT(SimulatePipeline(Schedule::k1F1B, stages, {0.1}, 1, 8),
            SimulatePipeline(Schedule::k1F1B, stages, {}, 1, 8));
}

TEST(InFlight, FollowsTheSchedule) {
  EXPECT_EQ(InFlight(Schedule::kGpipe, 0, 4, 1, 16), 16);
  EXPECT_EQ(InFlight(Schedule::k1F1B, 0, 4, 1, 16), 4);
  EXPECT_EQ(InFlight(Schedule::k1F1B, 3, 4, 1, 16), 1);
  EXPECT_EQ(InFlight(Schedule::k1F1B, 0, 4, 1, 2), 2);
  // Korthikanti et al., section 4.2.3: 1 + (p - 1) / (p v) times 1F1B's on the first stage.
  EXPECT_NEAR(InFlight(Schedule::kInterleaved, 0, 8, 3, 64), 8 * (1 + 7.0 / (8 * 3)), 1e-9);
  EXPECT_LE(InFlight(Schedule::kInterleaved, 0, 8, 3, 4), 4);
}
}  // namespace
}  // namespace shardplan
