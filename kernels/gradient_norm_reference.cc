// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/gradient_norm.h"

namespace shardplan::kernels {

template <class Real>
double SumOfSquaresReference(int64_t elements, const Real* x) {
  double sum = 0;
  for (int64_t i = 0; i < elements; ++i) sum += x[i] * x[i];
  return sum;
}

double ClipScaleReference(double sum, double largest, double unscale) {
  if (!std::isfinite(sum)) return std::numeric_limits<double>::quiet_NaN();
  const double norm = unscale * std::sqrt(sum);
  return unscale * (norm > largest ? largest / norm : 1);
}

template double SumOfSquaresReference(int64_t elements, const double* x);
template double SumOfSquaresReference(int64_t elements, const float* x);
}  // namespace shardplan::kernels
