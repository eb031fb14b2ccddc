// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.h"

#include "tests/kernels/vectors.h"

namespace shardplan::kernels {
namespace {

class AttentionReference : public testing::TestWithParam<bool> {
 protected:
  AttentionShape shape_{
      .batch = 2, .seq = 4, .heads = 4, .kv_heads = 2, .head_dim = 3, .causal = GetParam()};
  Random random_{11};
  Vector q_ = random_.Normal(96), k_ = random_.Normal(48), v_ = random_.Normal(48), y_ = Vector(96),
         lse_ = Vector(32);
  void Forward() {
    AttentionForwardReference(shape_, q_.data(), k_.data(), v_.data(), y_.data(), lse_.data());
  }
};

TEST_P(AttentionReference, EqualValuesComeOutUnchanged) {
  v_.assign(48, 2.5);
  Forward();
  for (const double y : y_) EXPECT_NEAR(y, 2.5, 1e-12);
}

TEST_P(AttentionReference, BackwardIsTheGradientOfForward) {
  const Vector dy = random_.Normal(96);
  const auto objective = [&] {
    Forward();
    return Dot(dy, y_);
  };
  Forward();
  Vector dq(96);
  Vector dk(48);
  Vector dv(48);
  AttentionBackwardReference(shape_, q_.data(), k_.data(), v_.data(), y_.data(), lse_.data(),
                             dy.data(), dq.data(), dk.data(), dv.data());
  ExpectGradient(q_, objective, dq, "q");
  ExpectGradient(k_, objective, dk, "k");
  ExpectGradient(v_, objective, dv, "v");
}

INSTANTIATE_TEST_SUITE_P(Masks, AttentionReference, testing::Bool(),
                         [](const auto& causal) { return causal.param ? "causal" : "full"; });
}  // namespace
}  // namespace shardplan::kernels
