// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/activation.h"

namespace shardplan::kernels {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The tanh form of GELU and its slope share this argument.
double TanhArgument(double x) {
  return std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
}
double Gelu(GeluKind kind, double x) {
  if (kind == GeluKind::kTanh) return 0.5 * x * (1 + std::tanh(TanhArgument(x)));
  return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
}
double GeluSlope(GeluKind kind, double x) {
  if (kind == GeluKind::kTanh) {
    const double t = std::tanh(TanhArgument(x));
    const double inner = std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner;
  }
  const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
  return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) + x * density;
}
}  // namespace

template <class Real>
void SwiGluForwardReference(const SwiGluShape& shape, const Real* gate, const Real* up, Real* y) {
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t c = 0; c < shape.columns; ++c) {
      const int64_t in = row * shape.input_stride + c;
      y[row * shape.columns + c] = gate[in] * Sigmoid(gate[in]) * up[in];
    }
}

template <class Real>
void SwiGluBackwardReference(const SwiGluShape& shape, const Real* gate, const Real* up,
                             const Real* dy, Real* dgate, Real* dup) {
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t c = 0; c < shape.columns; ++c) {
      const int64_t in = row * shape.input_stride + c;
      const double gradient = dy[row * shape.columns + c];
      const double s = Sigmoid(gate[in]);
      dgate[in] = gradient * up[in] * s * (1 + gate[in] * (1 - s));
      dup[in] = gradient * gate[in] * s;
    }
}

template <class Real>
void GeluForwardReference(const GeluShape& shape, const Real* x,
                          const std::type_identity_t<Real>* bias, Real* y) {
  for (int64_t i = 0; i < shape.rows * shape.columns; ++i)
    y[i] = Gelu(shape.kind, x[i] + (bias ? bias[i % shape.columns] : 0));
}

template <class Real>
void GeluBackwardReference(const GeluShape& shape, const Real* x,
                           const std::type_identity_t<Real>* bias, const Real* dy, Real* dx,
                           std::type_identity_t<Real>* dbias) {
  if (dbias) std::fill(dbias, dbias + shape.columns, 0);
  for (int64_t i = 0; i < shape.rows * shape.columns; ++i) {
    dx[i] = dy[i] * GeluSlope(shape.kind, x[i] + (bias ? bias[i % shape.columns] : 0));
    if (dbias) dbias[i % shape.columns] += dx[i];
  }
}

template void SwiGluForwardReference(const SwiGluShape& shape, const double* gate, const double* up,
                                     double* y);
template void SwiGluForwardReference(const SwiGluShape& shape, const float* gate, const float* up,
                                     float* y);
template void SwiGluBackwardReference(const SwiGluShape& shape, const double* gate,
                                      const double* up, const double* dy, double* dgate,
                                      double* dup);
template void SwiGluBackwardReference(const SwiGluShape& shape, const float* gate, const float* up,
                                      const float* dy, float* dgate, float* dup);
template void GeluForwardReference(const GeluShape& shape, const double* x, const double* bias,
                                   double* y);
template void GeluForwardReference(const GeluShape& shape, const float* x, const float* bias,
                                   float* y);
template void GeluBackwardReference(const GeluShape& shape, const double* x, const double* bias,
                                    const double* dy, double* dx, double* dbias);
template void GeluBackwardReference(const GeluShape& shape, const float* x, const float* bias,
                                    const float* dy, float* dx, float* dbias);
}  // namespace shardplan::kernels
