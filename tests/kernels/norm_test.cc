// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm.h"

#include "tests/kernels/vectors.h"

namespace shardplan::kernels {
namespace {

class NormReference : public testing::TestWithParam<NormKind> {
 protected:
  NormShape shape_{.kind = GetParam(), .rows = 3, .columns = 8, .epsilon = 1e-5f};
  Random random_{7};
  Vector x_ = random_.Normal(24), residual_ = random_.Normal(24), weight_ = random_.Normal(8),
         bias_ = random_.Normal(8), sum_ = Vector(24), y_ = Vector(24), mean_ = Vector(3),
         rstd_ = Vector(3);

  void Forward() {
    const bool is_layer = GetParam() == NormKind::kLayer;
    NormForwardReference(
        shape_, {x_.data(), residual_.data(), weight_.data(), is_layer ? bias_.data() : nullptr,
                 sum_.data(), y_.data(), is_layer ? mean_.data() : nullptr, rstd_.data()});
  }
};

TEST_P(NormReference, RowsComeOutWithUnitScale) {
  weight_.assign(8, 1);
  bias_.assign(8, 0);
  Forward();
  for (size_t row = 0; row < 3; ++row) {
    double total = 0;
    double squares = 0;
    for (size_t c = 0; c < 8; ++c) {
      total += y_[8 * row + c];
      squares += y_[8 * row + c] * y_[8 * row + c];
    }
    EXPECT_NEAR(squares / 8, 1, 1e-3);
    if (GetParam() == NormKind::kLayer) {
      EXPECT_NEAR(total, 0, 1e-12);
    }
  }
}

TEST_P(NormReference, BackwardIsTheGradientOfForward) {
  const Vector dy = random_.Normal(24);
  const Vector dsum = random_.Normal(24);
  const auto objective = [&] {
    Forward();
    return Dot(dy, y_) + Dot(dsum, sum_);
  };
  const bool is_layer = GetParam() == NormKind::kLayer;
  Forward();
  Vector dx(24);
  Vector dweight(8);
  Vector dbias(8);
  NormBackwardReference(shape_, {sum_.data(), weight_.data(), dy.data(), dsum.data(),
                                 is_layer ? mean_.data() : nullptr, rstd_.data(), dx.data(),
                                 dweight.data(), is_layer ? dbias.data() : nullptr});
  ExpectGradient(x_, objective, dx, "x");
  ExpectGradient(residual_, objective, dx, "residual");
  ExpectGradient(weight_, objective, dweight, "weight");
  if (is_layer) ExpectGradient(bias_, objective, dbias, "bias");
}

INSTANTIATE_TEST_SUITE_P(Kinds, NormReference, testing::Values(NormKind::kRms, NormKind::kLayer),
                         [](const auto& kind) {
                           return kind.param == NormKind::kRms ? "rms" : "layer";
                         });
}  // namespace
}  // namespace shardplan::kernels
