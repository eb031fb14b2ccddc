// SPDX-License-Identifier: Apache-2.0
#include "kernels/rotary.h"

namespace shardplan::kernels {

template <class Real>
void RotaryReference(const RotaryShape& shape, Direction direction, const Real* x, const Real* cos,
                     const Real* sin, Real* y) {
  const int64_t half = shape.head_dim / 2;
  const double sign = direction == Direction::kForward ? 1 : -1;
  for (int64_t token = 0; token < shape.tokens; ++token)
    for (int64_t head = 0; head < shape.heads; ++head)
      for (int64_t i = 0; i < half; ++i) {
        const int64_t first = token * shape.token_stride + head * shape.head_dim + i;
        const int64_t second = first + half;
        const double c = cos[token % shape.positions * half + i];
        const double s = sign * sin[token % shape.positions * half + i];
        const double x1 = x[first];
        const double x2 = x[second];
        y[first] = x1 * c - x2 * s;
        y[second] = x2 * c + x1 * s;
      }
}

template void RotaryReference(const RotaryShape& shape, Direction direction, const double* x,
                              const double* cos, const double* sin, double* y);
template void RotaryReference(const RotaryShape& shape, Direction direction, const float* x,
                              const float* cos, const float* sin, float* y);
}  // namespace shardplan::kernels
