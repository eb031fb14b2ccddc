// SPDX-License-Identifier: Apache-2.0
#include "kernels/moe.h"

#include <algorithm>

#include "tests/kernels/vectors.h"

namespace shardplan::kernels {
namespace {

class RouterReferenceTest : public testing::TestWithParam<bool> {};

TEST_P(RouterReferenceTest, BackwardIsTheGradientOfTheWeights) {
  const MoeShape shape{
      .tokens = 4, .columns = 4, .experts = 6, .top = 2, .renormalize = GetParam()};
  Random random(8);
  Vector logits = random.Normal(24);
  const Vector dweights = random.Normal(8);
  std::vector<int32_t> experts(8);
  Vector weights(8);
  const auto objective = [&] {
    RouterReference(shape, logits.data(), experts.data(), weights.data());
    return Dot(dweights, weights);
  };
  objective();
  if (GetParam()) {
    EXPECT_NEAR(weights[0] + weights[1], 1, 1e-12);
  }
  Vector dlogits(24);
  RouterBackwardReference(shape, logits.data(), experts.data(), dweights.data(), dlogits.data());
  ExpectGradient(logits, objective, dlogits, "logits");
}
INSTANTIATE_TEST_SUITE_P(Weights, RouterReferenceTest, testing::Bool(),
                         [](const auto& renormalize) {
                           return renormalize.param ? "renormalized" : "plain";
                         });

class MoveReference : public testing::Test {
 protected:
  MoeShape shape_{.tokens = 5, .columns = 4, .experts = 3, .top = 2};
  Random random_{9};
  std::vector<int32_t> experts_{2, 0, 0, 1, 2, 1, 0, 2, 2, 0};
  std::vector<int32_t> counts_ = std::vector<int32_t>(3), rows_ = std::vector<int32_t>(10);
  void SetUp() override {
    MoeRowMapReference(shape_, experts_.data(), counts_.data(), rows_.data());
  }
};

TEST_F(MoveReference, RowsGoByExpertAndThenByToken) {
  EXPECT_EQ(counts_, (std::vector<int32_t>{4, 2, 4}));
  EXPECT_EQ(rows_, (std::vector<int32_t>{6, 0, 1, 4, 7, 5, 2, 8, 9, 3}));
}

TEST_F(MoveReference, UnpermuteIsTheGradientOfPermute) {
  Vector x = random_.Normal(20);
  const Vector dy = random_.Normal(40);
  Vector y(40);
  const auto objective = [&] {
    PermuteReference(shape_, x.data(), rows_.data(), y.data());
    return Dot(dy, y);
  };
  Vector dx(20);
  UnpermuteReference(shape_, dy.data(), rows_.data(), nullptr, dx.data());
  ExpectGradient(x, objective, dx, "x");
}

TEST_F(MoveReference, PermuteScaledIsTheGradientOfUnpermute) {
  Vector x = random_.Normal(40);
  Vector weights = random_.Normal(10);
  const Vector dy = random_.Normal(20);
  Vector y(20);
  const auto objective = [&] {
    UnpermuteReference(shape_, x.data(), rows_.data(), weights.data(), y.data());
    return Dot(dy, y);
  };
  Vector dx(40);
  Vector dweights(10);
  PermuteScaledReference(shape_, dy.data(), x.data(), rows_.data(), weights.data(), dx.data(),
                         dweights.data());
  ExpectGradient(x, objective, dx, "x");
  ExpectGradient(weights, objective, dweights, "weights");
}
}  // namespace
}  // namespace shardplan::kernels
