// SPDX-License-Identifier: Apache-2.0
#include "kernels/rotary.h"

#include "tests/kernels/vectors.h"

namespace shardplan::kernels {
namespace {

class RotaryReferenceTest : public testing::Test {
 protected:
  // Two heads in tokens of 40 elements: 8 belong to someone else.
  RotaryShape shape_{.tokens = 3, .heads = 2, .head_dim = 16, .token_stride = 40, .positions = 2};
  Random random_{3};
  Vector x_ = random_.Normal(120);
  Vector cos_ = Vector(16), sin_ = Vector(16);

  void SetUp() override {
    const Vector angle = random_.Normal(16);
    for (size_t i = 0; i < 16; ++i) {
      cos_[i] = std::cos(angle[i]);
      sin_[i] = std::sin(angle[i]);
    }
  }
};

TEST_F(RotaryReferenceTest, BackwardUndoesForwardAndLeavesTheRestAlone) {
  Vector y(120, -1);
  RotaryReference(shape_, Direction::kForward, x_.data(), cos_.data(), sin_.data(), y.data());
  EXPECT_EQ(y[32], -1);
  RotaryReference(shape_, Direction::kBackward, y.data(), cos_.data(), sin_.data(), y.data());
  for (size_t i = 0; i < 120; ++i) {
    if (i % 40 < 32) {
      EXPECT_NEAR(y[i], x_[i], 1e-12) << i;
    }
  }
}

TEST_F(RotaryReferenceTest, BackwardIsTheGradientOfForward) {
  shape_.token_stride = 32;
  x_.resize(96);
  const Vector dy = random_.Normal(96);
  Vector y(96);
  const auto objective = [&] {
    RotaryReference(shape_, Direction::kForward, x_.data(), cos_.data(), sin_.data(), y.data());
    return Dot(dy, y);
  };
  Vector dx(96);
  RotaryReference(shape_, Direction::kBackward, dy.data(), cos_.data(), sin_.data(), dx.data());
  ExpectGradient(x_, objective, dx, "x");
}
}  // namespace
}  // namespace shardplan::kernels
