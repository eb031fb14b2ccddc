// SPDX-License-Identifier: Apache-2.0
#include "planner/framework/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/framework/toys.h"

namespace shardplan {
namespace {
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using toys::Dense;

int Sum(const std::vector<int>& split) { return std::accumulate(split.begin(), split.end(), 0); }

std::vector<int> PerRank(const std::vector<int>& split, int pp) {
  std::vector<int> ranks(static_cast<std::size_t>(pp), 0);
  for (std::size_t i = 0; i < split.size(); ++i) ranks[i % ranks.size()] += split[i];
  return ranks;
}

int Spread(const std::vector<int>& numbers) {
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  return *most - *least;
}

TEST(Split, GivesEachLayerToOneChunkAndNoInnerChunkNone) {
  for (const Framework& framework : Frameworks())
    for (int layers = 1; layers <= 130; ++layers)
      for (const int experts : {0, 8})
        for (const int pp : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 35, 61, 64, 126, 128})
          for (const int vpp : {1, 2, 3, 4, 8, 16}) {
            Model model = experts > 0 ? toys::WithExperts(Dense(layers, 32), experts, 2048)
                                      : Dense(layers, 32);
            model.facts.mtp_layers = layers % 3;
            const std::vector<int> split = framework.split(model, pp, vpp);
            if (split.empty()) continue;
            const auto where = [&] {
              return std::string(framework.name) + " layers " + std::to_string(layers) + " pp " +
                     std::to_string(pp) + " vpp " + std::to_string(vpp);
            };
            ASSERT_EQ(static_cast<int>(split.size()), pp * vpp) << where();
            ASSERT_EQ(Sum(split), layers) << where();
            ASSERT_GE(*std::min_element(split.begin(), split.end()), 0) << where();
            // nanotron's cut by cost may leave its last stages to the head alone.
            if (split.size() > 2 && framework.id != FrameworkId::kNanotron) {
              ASSERT_GE(*std::min_element(split.begin() + 1, split.end() - 1), 1) << where();
            }
          }
}

TEST(Split, HasOneStageWhereThereIsNoPipeline) {
  for (const FrameworkId id : {FrameworkId::kDdp, FrameworkId::kHf}) {
    EXPECT_THAT(FrameworkOf(id).split(Dense(12, 8), 1, 1), ElementsAre(12));
    EXPECT_THAT(FrameworkOf(id).split(Dense(12, 8), 2, 1), IsEmpty());
  }
  for (const Framework& framework : Frameworks())
    EXPECT_THAT(framework.split(Dense(12, 8), 1, 2), IsEmpty()) << framework.name;
}

// Runs that really were: layers, pp, vpp.
TEST(SplitMegatron, TakesTheUnevenStagesOfRealRuns) {
  const int runs[][3] = {
      {126, 8, 1}, {126, 8, 8},  {126, 16, 1}, {126, 16, 4}, {126, 16, 8}, {61, 2, 4},  {61, 2, 8},
      {61, 4, 4},  {61, 16, 1},  {94, 8, 2},   {94, 8, 3},   {94, 4, 6},   {94, 32, 3}, {94, 12, 1},
      {78, 6, 1},  {78, 12, 1},  {82, 12, 1},  {100, 6, 1},  {106, 12, 1}, {32, 3, 1},  {32, 5, 1},
      {32, 6, 1},  {105, 35, 1}, {105, 35, 3}, {80, 4, 20},  {12, 4, 1},   {24, 16, 1}};
  for (const auto& [layers, pp, vpp] : runs) {
    const std::vector<int> split = SplitMegatron(Dense(layers, 64), pp, vpp);
    EXPECT_EQ(Sum(split), layers) << layers << " on pp " << pp << " vpp " << vpp;
    EXPECT_LE(Spread(split), 1) << layers << " on pp " << pp << " vpp " << vpp;
  }
}

TEST(SplitMegatron, LeavesTheFirstAndTheLastLightest) {
  EXPECT_THAT(SplitMegatron(Dense(126, 128), 8, 1), ElementsAre(15, 16, 16, 16, 16, 16, 16, 15));
  EXPECT_THAT(SplitMegatron(Dense(94, 64), 12, 1), ElementsAre(7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7));
  EXPECT_THAT(SplitMegatron(Dense(32, 32), 3, 1), ElementsAre(11, 11, 10));
  // One layer in each chunk, none beside the embedding and the loss.
  const std::vector<int> thin = SplitMegatron(Dense(94, 64), 32, 3);
  EXPECT_EQ(thin.front(), 0);
  EXPECT_EQ(thin.back(), 0);
  EXPECT_EQ(Sum(thin), 94);
}

TEST(SplitMegatron, CountsMtpAsALayerOfTheLastChunk) {
  const std::vector<int> split = SplitMegatron(toys::DeepseekV3(), 16, 1);
  EXPECT_THAT(split, ElementsAre(3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2));
}

TEST(SplitMegatron, KeepsRanksBalancedUnderInterleaving) {
  for (int layers = 20; layers <= 130; ++layers)
    for (const int pp : {2, 4, 8})
      for (const int vpp : {2, 3, 4}) {
        const std::vector<int> split = SplitMegatron(Dense(layers, 32), pp, vpp);
        if (split.empty()) continue;
        // The ends are left light, so a rank may be two short of another.
        EXPECT_LE(Spread(PerRank(split, pp)), 2) << layers << ' ' << pp << ' ' << vpp;
      }
}

TEST(SplitMegatron, IsEvenWhereItCanBe) {
  EXPECT_THAT(SplitMegatron(Dense(80, 64), 4, 2), ElementsAre(10, 10, 10, 10, 10, 10, 10, 10));
}

TEST(SplitMegatron, NeedsALayerForEachInnerChunk) {
  EXPECT_THAT(SplitMegatron(Dense(6, 8), 8, 1), ElementsAre(0, 1, 1, 1, 1, 1, 1, 0));
  EXPECT_THAT(SplitMegatron(Dense(5, 8), 8, 1), IsEmpty());
}

// torchtitan's own rule: embedding and head weigh one layer, spare ones go to early stages.
TEST(SplitTorch, CountsEmbeddingAndHeadAsLayers) {
  EXPECT_THAT(SplitTorch(Dense(126, 128), 8, 1), ElementsAre(15, 16, 16, 16, 16, 16, 16, 15));
  EXPECT_THAT(SplitTorch(Dense(32, 32), 4, 1), ElementsAre(8, 9, 8, 7));
  EXPECT_THAT(SplitTorch(Dense(61, 64), 4, 8).front(), 1);
  EXPECT_THAT(SplitTorch(Dense(61, 64), 4, 8).back(), 0);
}

// Measured first stages of nanotron's 1B Llama: 14 of 24 layers on pp 2, 7, 4 and 2.
TEST(SplitNanotron, FillsAStageUntilItsShareOfTheCostIsPassed) {
  Model model = Dense(24, 32, 32, 64);
  model.facts.vocab_size = 50257;
  model.facts.intermediate_size = 4096;
  for (const auto& [pp, first] : {std::pair{2, 14}, {4, 7}, {8, 4}, {16, 2}})
    EXPECT_EQ(SplitNanotron(model, pp, 1).front(), first) << "pp " << pp;
  EXPECT_THAT(SplitNanotron(model, 4, 2), IsEmpty());
}

TEST(SplitDeepspeed, WeighsTheEmbedding) {
  Model model = Dense(24, 16);
  model.facts.vocab_size = 256000;
  const std::vector<int> split = SplitDeepspeed(model, 4, 1);
  EXPECT_EQ(Sum(split), 24);
  EXPECT_LT(split.front(), split[1]);
  EXPECT_LT(split.back(), split[2]);
}

TEST(ChunkLayers, HeedsTheLayersThatAPlanGivesItsStages) {
  const Framework& megatron = FrameworkOf(FrameworkId::kMegatron);
  const Model model = Dense(80, 64);
  EXPECT_THAT(ChunkLayers(megatron, model, {.pp = 4}), ElementsAre(20, 20, 20, 20));
  EXPECT_THAT(ChunkLayers(megatron, model, {.pp = 4, .stage_layers = {19, 21, 21, 19}}),
              ElementsAre(19, 21, 21, 19));
  // Of each rank: spread over its chunks.
  EXPECT_THAT(ChunkLayers(megatron, model, {.pp = 4, .vpp = 2, .stage_layers = {19, 21, 21, 19}}),
              ElementsAre(10, 11, 11, 10, 9, 10, 10, 9));
  // Of each chunk.
  EXPECT_THAT(ChunkLayers(megatron, model, {.pp = 2, .vpp = 2, .stage_layers = {19, 21, 21, 19}}),
              ElementsAre(19, 21, 21, 19));
}
}  // namespace
}  // namespace shardplan
