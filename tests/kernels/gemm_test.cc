// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.h"

#include "tests/kernels/vectors.h"

namespace shardplan::kernels {
namespace {

// The two backward passes of a linear layer, y = x W^T, are the gradients of its forward.
TEST(GemmReference, PassesAreALayersForwardAndItsGradients) {
  constexpr int64_t kTokens = 3, kIn = 4, kOut = 5, kLayers = 2;
  Random random(10);
  Vector x = random.Normal(kLayers * kTokens * kIn);
  Vector w = random.Normal(kLayers * kOut * kIn);
  const Vector dy = random.Normal(kLayers * kTokens * kOut);
  Vector y(dy.size());
  const auto objective = [&] {
    GemmReference({GemmPass::kForward, kTokens, kOut, kIn, kLayers}, x.data(), w.data(), y.data());
    return Dot(dy, y);
  };
  Vector dx(x.size());
  Vector dw(w.size());
  GemmReference({GemmPass::kInput, kTokens, kIn, kOut, kLayers}, dy.data(), w.data(), dx.data());
  GemmReference({GemmPass::kWeight, kOut, kIn, kTokens, kLayers}, dy.data(), x.data(), dw.data());
  ExpectGradient(x, objective, dx, "x");
  ExpectGradient(w, objective, dw, "W");
}
}  // namespace
}  // namespace shardplan::kernels
