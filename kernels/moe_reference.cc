// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/moe.h"

namespace shardplan::kernels {
namespace {

std::vector<double> Softmax(const double* logits, int64_t count) {
  const double largest = *std::max_element(logits, logits + count);
  std::vector<double> p(logits, logits + count);
  for (double& x : p) x = std::exp(x - largest);
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  return p;
}
}  // namespace

void RouterReference(const MoeShape& shape, const double* logits, int32_t* experts,
                     double* weights) {
  std::vector<int32_t> order(static_cast<size_t>(shape.experts));
  for (int64_t token = 0; token < shape.tokens; ++token) {
    const double* row = logits + token * shape.experts;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return row[a] > row[b]; });
    const std::vector<double> p = Softmax(row, shape.experts);
    double picked = 0;
    for (int64_t s = 0; s < shape.top; ++s) picked += p[static_cast<size_t>(order[s])];
    for (int64_t s = 0; s < shape.top; ++s) {
      const int32_t expert = order[static_cast<size_t>(s)];
      experts[token * shape.top + s] = expert;
      weights[token * shape.top + s] =
          p[static_cast<size_t>(expert)] / (shape.renormalize ? picked : 1);
    }
  }
}

void RouterBackwardReference(const MoeShape& shape, const double* logits, const int32_t* experts,
                             const double* dweights, double* dlogits) {
  for (int64_t token = 0; token < shape.tokens; ++token) {
    const int32_t* picks = experts + token * shape.top;
    const double* gradient = dweights + token * shape.top;
    const std::vector<double> p = Softmax(logits + token * shape.experts, shape.experts);
    // Renormalized weights are a softmax over the picked logits alone.
    double scale = 1;
    if (shape.renormalize) {
      scale = 0;
      for (int64_t s = 0; s < shape.top; ++s) scale += p[static_cast<size_t>(picks[s])];
    }
    double mean = 0;  // of the gradient, under the weights
    for (int64_t s = 0; s < shape.top; ++s)
      mean += gradient[s] * p[static_cast<size_t>(picks[s])] / scale;
    double* out = dlogits + token * shape.experts;
    for (int64_t e = 0; e < shape.experts; ++e)
      out[e] = shape.renormalize ? 0 : -p[static_cast<size_t>(e)] * mean;
    for (int64_t s = 0; s < shape.top; ++s) {
      const double weight = p[static_cast<size_t>(picks[s])] / scale;
      out[picks[s]] += weight * (shape.renormalize ? gradient[s] - mean : gradient[s]);
    }
  }
}

void MoeRowMapReference(const MoeShape& shape, const int32_t* experts, int32_t* counts,
                        int32_t* rows) {
  const int64_t slots = shape.tokens * shape.top;
  std::fill(counts, counts + shape.experts, 0);
  for (int64_t i = 0; i < slots; ++i) ++counts[experts[i]];
  std::vector<int32_t> next(static_cast<size_t>(shape.experts), 0);
  std::partial_sum(counts, counts + shape.experts - 1, next.begin() + 1);
  for (int64_t i = 0; i < slots; ++i) rows[i] = next[static_cast<size_t>(experts[i])]++;
}

void PermuteReference(const MoeShape& shape, const double* x, const int32_t* rows, double* y) {
  for (int64_t i = 0; i < shape.tokens * shape.top; ++i)
    std::copy_n(x + i / shape.top * shape.columns, shape.columns, y + rows[i] * shape.columns);
}

void UnpermuteReference(const MoeShape& shape, const double* x, const int32_t* rows,
                        const double* weights, double* y) {
  std::fill(y, y + shape.tokens * shape.columns, 0);
  for (int64_t i = 0; i < shape.tokens * shape.top; ++i)
    for (int64_t c = 0; c < shape.columns; ++c)
      y[i / shape.top * shape.columns + c] +=
          (weights ? weights[i] : 1) * x[rows[i] * shape.columns + c];
}

void PermuteScaledReference(const MoeShape& shape, const double* dy, const double* x,
                            const int32_t* rows, const double* weights, double* dx,
                            double* dweights) {
  for (int64_t i = 0; i < shape.tokens * shape.top; ++i) {
    const double* gradient = dy + i / shape.top * shape.columns;
    dweights[i] = 0;
    for (int64_t c = 0; c < shape.columns; ++c) {
      dx[rows[i] * shape.columns + c] = weights[i] * gradient[c];
      dweights[i] += gradient[c] * x[rows[i] * shape.columns + c];
    }
  }
}
}  // namespace shardplan::kernels
