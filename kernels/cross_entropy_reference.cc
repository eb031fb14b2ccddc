// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/cross_entropy.h"

namespace shardplan::kernels {

template <class Real>
void CrossEntropyStatisticsReference(const CrossEntropyShape& shape, const Real* logits,
                                     const int32_t* targets, SoftmaxStatistics<Real>* statistics) {
  for (int64_t row = 0; row < shape.rows; ++row) {
    const Real* logit = logits + row * shape.columns;
    SoftmaxStatistics<Real>& out = statistics[row];
    out = {*std::max_element(logit, logit + shape.columns), 0, 0};
    for (int64_t c = 0; c < shape.columns; ++c) out.sum += std::exp(logit[c] - out.largest);
    const int64_t column = targets[row] - shape.first_column;
    if (column >= 0 && column < shape.columns) out.target = logit[column];
  }
}

template <class Real>
void CrossEntropyCombineReference(int64_t ranks, int64_t rows, const SoftmaxStatistics<Real>* parts,
                                  const int32_t* targets, SoftmaxStatistics<Real>* whole,
                                  Real* losses) {
  for (int64_t row = 0; row < rows; ++row) {
    SoftmaxStatistics<Real> out = parts[row];
    for (int64_t rank = 1; rank < ranks; ++rank) {
      const SoftmaxStatistics<Real>& part = parts[rank * rows + row];
      const Real largest = std::max(out.largest, part.largest);
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

template <class Real>
void CrossEntropyGradientReference(const CrossEntropyShape& shape, double scale,
                                   const SoftmaxStatistics<Real>* whole, const int32_t* targets,
                                   Real* logits) {
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t c = 0; c < shape.columns; ++c) {
      Real& logit = logits[row * shape.columns + c];
      const double probability = std::exp(logit - whole[row].largest) / whole[row].sum;
      const bool is_target = targets[row] == shape.first_column + c;
      logit = targets[row] == kIgnored ? 0 : scale * (probability - (is_target ? 1 : 0));
    }
}

template void CrossEntropyStatisticsReference(const CrossEntropyShape& shape, const double* logits,
                                              const int32_t* targets,
                                              SoftmaxStatistics<double>* statistics);
template void CrossEntropyStatisticsReference(const CrossEntropyShape& shape, const float* logits,
                                              const int32_t* targets,
                                              SoftmaxStatistics<float>* statistics);
template void CrossEntropyCombineReference(int64_t ranks, int64_t rows,
                                           const SoftmaxStatistics<double>* parts,
                                           const int32_t* targets, SoftmaxStatistics<double>* whole,
                                           double* losses);
template void CrossEntropyCombineReference(int64_t ranks, int64_t rows,
                                           const SoftmaxStatistics<float>* parts,
                                           const int32_t* targets, SoftmaxStatistics<float>* whole,
                                           float* losses);
template void CrossEntropyGradientReference(const CrossEntropyShape& shape, double scale,
                                            const SoftmaxStatistics<double>* whole,
                                            const int32_t* targets, double* logits);
template void CrossEntropyGradientReference(const CrossEntropyShape& shape, double scale,
                                            const SoftmaxStatistics<float>* whole,
                                            const int32_t* targets, float* logits);
}  // namespace shardplan::kernels
