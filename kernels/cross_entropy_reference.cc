// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/cross_entropy.h"

namespace shardplan::kernels {

void CrossEntropyStatisticsReference(const CrossEntropyShape& shape, const double* logits,
                                     const int32_t* targets,
                                     SoftmaxStatistics<double>* statistics) {
  for (int64_t row = 0; row < shape.rows; ++row) {
    const double* logit = logits + row * shape.columns;
    SoftmaxStatistics<double>& out = statistics[row];
    out = {*std::max_element(logit, logit + shape.columns), 0, 0};
    for (int64_t c = 0; c < shape.columns; ++c) out.sum += std::exp(logit[c] - out.largest);
    const int64_t column = targets[row] - shape.first_column;
    if (column >= 0 && column < shape.columns) out.target = logit[column];
  }
}

void CrossEntropyCombineReference(int64_t ranks, int64_t rows,
                                  const SoftmaxStatistics<double>* parts, const int32_t* targets,
                                  SoftmaxStatistics<double>* whole, double* losses) {
  for (int64_t row = 0; row < rows; ++row) {
    SoftmaxStatistics<double> out = parts[row];
    for (int64_t rank = 1; rank < ranks; ++rank) {
      const SoftmaxStatistics<double>& part = parts[rank * rows + row];
      const double largest = std::max(out.largest, part.largest);
      out.sum =
          out.sum * std::exp(out.largest - largest) + part.sum * std::exp(part.largest - largest);
      out.largest = largest;
      out.target += part.target;
    }
    whole[row] = out;
    if (losses)
      losses[row] = targets[row] == kIgnored ? 0 : std::log(out.sum) + out.largest - out.target;
  }
}

void CrossEntropyGradientReference(const CrossEntropyShape& shape, double scale,
                                   const SoftmaxStatistics<double>* whole, const int32_t* targets,
                                   double* logits) {
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t c = 0; c < shape.columns; ++c) {
      double& logit = logits[row * shape.columns + c];
      const double probability = std::exp(logit - whole[row].largest) / whole[row].sum;
      const bool is_target = targets[row] == shape.first_column + c;
      logit = targets[row] == kIgnored ? 0 : scale * (probability - (is_target ? 1 : 0));
    }
}
}  // namespace shardplan::kernels
