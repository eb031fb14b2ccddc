// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation.h"

#include "tests/kernels/vectors.h"

namespace shardplan::kernels {
namespace {

// gate and up lie side by side in one matrix, as a fused projection leaves them.
TEST(SwiGluReference, BackwardIsTheGradientOfForward) {
  const SwiGluShape shape{.rows = 3, .columns = 4, .input_stride = 8};
  Random random(1);
  Vector fused = random.Normal(24);
  const Vector dy = random.Normal(12);
  Vector y(12);
  const auto objective = [&] {
    SwiGluForwardReference(shape, fused.data(), fused.data() + 4, y.data());
    return Dot(dy, y);
  };
  Vector gradient(24);
  SwiGluBackwardReference(shape, fused.data(), fused.data() + 4, dy.data(), gradient.data(),
                          gradient.data() + 4);
  ExpectGradient(fused, objective, gradient, "gate and up");
}

class GeluReference : public testing::TestWithParam<GeluKind> {};

TEST_P(GeluReference, BackwardIsTheGradientOfForward) {
  const GeluShape shape{.kind = GetParam(), .rows = 3, .columns = 4};
  Random random(2);
  Vector x = random.Normal(12);
  Vector bias = random.Normal(4);
  const Vector dy = random.Normal(12);
  Vector y(12);
  const auto objective = [&] {
    GeluForwardReference(shape, x.data(), bias.data(), y.data());
    return Dot(dy, y);
  };
  Vector dx(12);
  Vector dbias(4);
  GeluBackwardReference(shape, x.data(), bias.data(), dy.data(), dx.data(), dbias.data());
  ExpectGradient(x, objective, dx, "x");
  ExpectGradient(bias, objective, dbias, "bias");
}

INSTANTIATE_TEST_SUITE_P(Kinds, GeluReference, testing::Values(GeluKind::kErf, GeluKind::kTanh),
                         [](const auto& kind) {
                           return kind.param == GeluKind::kErf ? "erf" : "tanh";
                         });

TEST(GeluReference, TanhFollowsErfClosely) {
  Vector x{-3, -1, -0.1, 0, 0.5, 2};
  Vector exact(6);
  Vector close(6);
  GeluForwardReference({GeluKind::kErf, 1, 6}, x.data(), nullptr, exact.data());
  GeluForwardReference({GeluKind::kTanh, 1, 6}, x.data(), nullptr, close.data());
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(exact[i], close[i], 5e-4) << x[i];
}
}  // namespace
}  // namespace shardplan::kernels
