// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "kernels/adam.h"
#include "kernels/gradient_norm.h"
#include "tests/kernels/vectors.h"

namespace shardplan::kernels {
namespace {

struct State {
  Vector weight, first, second;
  State() : weight{1, -2, 3}, first(3), second(3) {}
  void Step(const AdamSettings& settings, const Vector& gradient) {
    AdamReference(settings, 3, gradient.data(), weight.data(), first.data(), second.data());
  }
};

TEST(AdamReference, FirstStepIsTheRateWhateverTheGradientsSize) {
  State state;
  state.Step({.rate = 0.1, .decay = 0}, {1e-3, -5, 100});
  EXPECT_NEAR(state.weight[0], 0.9, 1e-5);
  EXPECT_NEAR(state.weight[1], -1.9, 1e-5);
  EXPECT_NEAR(state.weight[2], 2.9, 1e-5);
}

TEST(AdamReference, DecoupledDecayShrinksWeightsWithoutAGradient) {
  State state;
  state.Step({.decoupled = true, .rate = 0.1, .decay = 0.5}, {0, 0, 0});
  EXPECT_DOUBLE_EQ(state.weight[2], 3 * (1 - 0.05));
  EXPECT_EQ(state.first[2], 0);
}

TEST(AdamReference, CoupledDecayIsAPartOfTheGradient) {
  State coupled;
  coupled.Step({.decoupled = false, .decay = 0.5}, {1, 1, 1});
  State plain;
  plain.Step({.decay = 0}, {1.5, 0, 2.5});
  for (size_t i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(coupled.weight[i], plain.weight[i]);
}

TEST(ClipScaleReference, ClipsOnlyWhatExceedsTheLargestNorm) {
  EXPECT_DOUBLE_EQ(ClipScaleReference(16, 1, 1), 0.25);
  EXPECT_DOUBLE_EQ(ClipScaleReference(16, 8, 1), 1);
  EXPECT_DOUBLE_EQ(ClipScaleReference(16, 1, 0.5), 0.25);  // norm 2 once unscaled
}

TEST(ClipScaleReference, IsNotANumberAfterAnOverflow) {
  EXPECT_TRUE(std::isnan(ClipScaleReference(std::numeric_limits<double>::infinity(), 1, 1)));
}

TEST(ChunksOf, CoverEachTensorOnce) {
  const auto chunks = ChunksOf({kChunkElements + 1, 0, 5});
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(chunks[1].tensor, 0);
  EXPECT_EQ(chunks[1].index, 1);
  EXPECT_EQ(chunks[2].tensor, 2);
  EXPECT_EQ(chunks[2].index, 0);
}
}  // namespace
}  // namespace shardplan::kernels
