// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/norm.h"

namespace shardplan::kernels {

template <class Real>
void NormForwardReference(const NormShape& shape, const NormForwardArgs<Real, Real>& args) {
  const int64_t columns = shape.columns;
  for (int64_t row = 0; row < shape.rows; ++row) {
    const int64_t start = row * columns;
    const auto sum = [&](int64_t c) {
      return args.x[start + c] + (args.residual ? args.residual[start + c] : 0);
    };
    double mean = 0;
    double squares = 0;
    for (int64_t c = 0; c < columns && shape.kind == NormKind::kLayer; ++c)
      mean += sum(c) / static_cast<double>(columns);
    for (int64_t c = 0; c < columns; ++c) squares += (sum(c) - mean) * (sum(c) - mean);
    const double rstd =
        1 / std::sqrt(squares / static_cast<double>(columns) + double{shape.epsilon});

    for (int64_t c = 0; c < columns; ++c) {
      args.y[start + c] = (sum(c) - mean) * rstd * args.weight[c] + (args.bias ? args.bias[c] : 0);
      if (args.sum) args.sum[start + c] = sum(c);
    }
    args.rstd[row] = rstd;
    if (args.mean) args.mean[row] = mean;
  }
}

template <class Real>
void NormBackwardReference(const NormShape& shape, const NormBackwardArgs<Real, Real>& args) {
  const int64_t columns = shape.columns;
  std::fill(args.dweight, args.dweight + columns, 0);
  if (args.dbias) std::fill(args.dbias, args.dbias + columns, 0);
  for (int64_t row = 0; row < shape.rows; ++row) {
    const int64_t start = row * columns;
    const double mean = args.mean ? args.mean[row] : 0;
    const double rstd = args.rstd[row];
    const auto normal = [&](int64_t c) { return (args.sum[start + c] - mean) * rstd; };
    const auto gradient = [&](int64_t c) { return args.dy[start + c] * args.weight[c]; };

    double along_normal = 0;  // what of the gradient only scales the row,
    double along_ones = 0;    // and what only shifts it: the norm undoes both
    for (int64_t c = 0; c < columns; ++c) {
      along_normal += gradient(c) * normal(c) / static_cast<double>(columns);
      if (shape.kind == NormKind::kLayer) along_ones += gradient(c) / static_cast<double>(columns);
    }
    for (int64_t c = 0; c < columns; ++c) {
      args.dx[start + c] = rstd * (gradient(c) - along_ones - normal(c) * along_normal) +
                           (args.dsum ? args.dsum[start + c] : 0);
      args.dweight[c] += args.dy[start + c] * normal(c);
      if (args.dbias) args.dbias[c] += args.dy[start + c];
    }
  }
}

template void NormForwardReference(const NormShape& shape,
                                   const NormForwardArgs<double, double>& args);
template void NormForwardReference(const NormShape& shape,
                                   const NormForwardArgs<float, float>& args);
template void NormBackwardReference(const NormShape& shape,
                                    const NormBackwardArgs<double, double>& args);
template void NormBackwardReference(const NormShape& shape,
                                    const NormBackwardArgs<float, float>& args);
}  // namespace shardplan::kernels
