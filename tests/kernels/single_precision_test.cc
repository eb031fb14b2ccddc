// SPDX-License-Identifier: Apache-2.0
// The references in float, which the host device runs, beside those in double.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/activation.h"
#include "kernels/adam.h"
#include "kernels/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/norm.h"

namespace shardplan::kernels {
namespace {

// The same random numbers in both precisions.
struct Twin {
  std::vector<double> wide;
  std::vector<float> narrow;

  explicit Twin(std::size_t count, unsigned seed = 0) : wide(count), narrow(count) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < count && seed != 0; ++i) wide[i] = narrow[i] = normal(random);
  }
  void ExpectAlike(const char* what) const {
    double largest = 0;
    for (const double x : wide) largest = std::max(largest, std::fabs(x));
    for (std::size_t i = 0; i < wide.size(); ++i)
      ASSERT_NEAR(narrow[i], wide[i], 1e-5 * largest) << what << " at " << i;
  }
};

TEST(SinglePrecision, NormsAgreeWithDouble) {
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    const NormShape shape{kind, 7, 64};
    const bool layer = kind == NormKind::kLayer;
    const Twin x(448, 1), r(448, 2), w(64, 3), b(64, 4), dy(448, 5), dsum(448, 6);
    Twin sum(448), y(448), mean(7), rstd(7), dx(448), dw(64), db(64);
    NormForwardReference<double>(
        shape,
        {x.wide.data(), r.wide.data(), w.wide.data(), layer ? b.wide.data() : nullptr,
         sum.wide.data(), y.wide.data(), layer ? mean.wide.data() : nullptr, rstd.wide.data()});
    NormForwardReference<float>(
        shape, {x.narrow.data(), r.narrow.data(), w.narrow.data(),
                layer ? b.narrow.data() : nullptr, sum.narrow.data(), y.narrow.data(),
                layer ? mean.narrow.data() : nullptr, rstd.narrow.data()});
    y.ExpectAlike("y");
    rstd.ExpectAlike("rstd");
    NormBackwardReference<double>(
        shape, {sum.wide.data(), w.wide.data(), dy.wide.data(), dsum.wide.data(),
                layer ? mean.wide.data() : nullptr, rstd.wide.data(), dx.wide.data(),
                dw.wide.data(), layer ? db.wide.data() : nullptr});
    NormBackwardReference<float>(
        shape, {sum.narrow.data(), w.narrow.data(), dy.narrow.data(), dsum.narrow.data(),
                layer ? mean.narrow.data() : nullptr, rstd.narrow.data(), dx.narrow.data(),
                dw.narrow.data(), layer ? db.narrow.data() : nullptr});
    dx.ExpectAlike("dx");
    dw.ExpectAlike("dweight");
    db.ExpectAlike("dbias");
  }
}

TEST(SinglePrecision, AttentionAgreesWithDouble) {
  const AttentionShape shape{.batch = 2, .seq = 9, .heads = 4, .kv_heads = 2, .head_dim = 8};
  const Twin q(576, 1), k(288, 2), v(288, 3), dy(576, 4);
  Twin y(576), lse(72), dq(576), dk(288), dv(288);
  const auto run = [&]<class Real>(std::vector<Real> Twin::*of) {
    AttentionForwardReference(shape, (q.*of).data(), (k.*of).data(), (v.*of).data(), (y.*of).data(),
                              (lse.*of).data());
    AttentionBackwardReference(shape, (q.*of).data(), (k.*of).data(), (v.*of).data(),
                               (y.*of).data(), (lse.*of).data(), (dy.*of).data(), (dq.*of).data(),
                               (dk.*of).data(), (dv.*of).data());
  };
  run(&Twin::wide);
  run(&Twin::narrow);
  y.ExpectAlike("y");
  dq.ExpectAlike("dq");
  dk.ExpectAlike("dk");
  dv.ExpectAlike("dv");
}

TEST(SinglePrecision, LossActivationAndOptimizerAgreeWithDouble) {
  const CrossEntropyShape shape{.rows = 5, .columns = 40};
  const std::vector<std::int32_t> targets{3, 39, 0, 17, 20};
  Twin logits(200, 1), gate(200, 2), up(200, 3), y(200);
  Twin gradient(200, 4), weight(200, 5), first(200, 6), second(200);
  const auto run = [&]<class Real>(std::vector<Real> Twin::*of) {
    std::vector<SoftmaxStatistics<Real>> statistics(5);
    CrossEntropyStatisticsReference(shape, (logits.*of).data(), targets.data(), statistics.data());
    CrossEntropyGradientReference(shape, 0.2, statistics.data(), targets.data(),
                                  (logits.*of).data());
    SwiGluForwardReference({5, 40, 40}, (gate.*of).data(), (up.*of).data(), (y.*of).data());
    AdamReference({}, 200, (gradient.*of).data(), (weight.*of).data(), (first.*of).data(),
                  (second.*of).data());
  };
  run(&Twin::wide);
  run(&Twin::narrow);
  logits.ExpectAlike("gradient of the logits");
  y.ExpectAlike("SwiGLU");
  weight.ExpectAlike("weight");
  second.ExpectAlike("second moment");
}
}  // namespace
}  // namespace shardplan::kernels
