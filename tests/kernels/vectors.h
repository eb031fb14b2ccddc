// SPDX-License-Identifier: Apache-2.0
// Random vectors in double, and gradients by finite differences.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/dtype.h"

namespace shardplan::kernels {

using Vector = std::vector<double>;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // Normal, rounded to `dtype` where one is given, as a tensor of it would hold.
  Vector Normal(int64_t count, double deviation = 1) {
    std::normal_distribution<double> normal(0, deviation);
    Vector values(static_cast<size_t>(count));
    for (double& value : values) value = normal(engine_);
    return values;
  }
  Vector Normal(int64_t count, DType dtype, double deviation = 1) {
    Vector values = Normal(count, deviation);
    for (double& value : values) value = Round(value, dtype);
    return values;
  }
  std::vector<int32_t> Integers(int64_t count, int32_t least, int32_t most) {
    std::uniform_int_distribution<int32_t> uniform(least, most);
    std::vector<int32_t> values(static_cast<size_t>(count));
    for (int32_t& value : values) value = uniform(engine_);
    return values;
  }

 private:
  std::mt19937_64 engine_;
};

inline double Dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// `gradient` is what a reference says of the slope of `objective`, which reads `x`.
inline void ExpectGradient(Vector& x, const std::function<double()>& objective,
                           const Vector& gradient, const std::string& of) {
  ASSERT_EQ(x.size(), gradient.size()) << of;
  constexpr double kStep = 1e-5;  // errors of step^2 and of 1e-16 / step, both about 1e-10
  for (size_t i = 0; i < x.size(); ++i) {
    const double here = x[i];
    x[i] = here + kStep;
    const double above = objective();
    x[i] = here - kStep;
    const double below = objective();
    x[i] = here;
    const double slope = (above - below) / (2 * kStep);
    ASSERT_NEAR(gradient[i], slope, 1e-7 * (1 + std::abs(slope))) << of << " at " << i;
  }
}
}  // namespace shardplan::kernels
