// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention.h"

namespace shardplan::kernels {
namespace {

template <class Real>
double Dot(const Real* a, const Real* b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// Where the vectors of one (batch, head) lie, by position.
struct Head {
  const AttentionShape& shape;
  int64_t batch;
  int64_t head;

  int64_t Query(int64_t position) const {
    return ((batch * shape.seq + position) * shape.heads + head) * shape.head_dim;
  }
  int64_t Key(int64_t position) const {
    const int64_t kv_head = head / (shape.heads / shape.kv_heads);
    return ((batch * shape.seq + position) * shape.kv_heads + kv_head) * shape.head_dim;
  }
  int64_t Lse(int64_t position) const {
    return (batch * shape.heads + head) * shape.seq + position;
  }
  int64_t KeysSeen(int64_t query) const { return shape.causal ? query + 1 : shape.seq; }
  double Scale() const { return 1 / std::sqrt(static_cast<double>(shape.head_dim)); }
};

template <class Body>
void ForHeads(const AttentionShape& shape, Body&& body) {
  for (int64_t batch = 0; batch < shape.batch; ++batch)
    for (int64_t head = 0; head < shape.heads; ++head) body(Head{shape, batch, head});
}
}  // namespace

template <class Real>
void AttentionForwardReference(const AttentionShape& shape, const Real* q, const Real* k,
                               const Real* v, Real* y, Real* lse) {
  const int64_t dim = shape.head_dim;
  std::vector<double> score(static_cast<size_t>(shape.seq));
  ForHeads(shape, [&](const Head& head) {
    for (int64_t query = 0; query < shape.seq; ++query) {
      const int64_t seen = head.KeysSeen(query);
      double largest = -std::numeric_limits<double>::infinity();
      for (int64_t key = 0; key < seen; ++key) {
        double& s = score[static_cast<size_t>(key)];
        s = head.Scale() * Dot(q + head.Query(query), k + head.Key(key), dim);
        largest = std::max(largest, s);
      }
      double sum = 0;
      for (int64_t key = 0; key < seen; ++key)
        sum += std::exp(score[static_cast<size_t>(key)] - largest);
      Real* out = y + head.Query(query);
      std::fill(out, out + dim, 0);
      for (int64_t key = 0; key < seen; ++key) {
        const double p = std::exp(score[static_cast<size_t>(key)] - largest) / sum;
        for (int64_t i = 0; i < dim; ++i) out[i] += p * v[head.Key(key) + i];
      }
      lse[head.Lse(query)] = largest + std::log(sum);
    }
  });
}

template <class Real>
void AttentionBackwardReference(const AttentionShape& shape, const Real* q, const Real* k,
                                const Real* v, const Real* y, const Real* lse, const Real* dy,
                                Real* dq, Real* dk, Real* dv) {
  const int64_t dim = shape.head_dim;
  std::fill(dq, dq + shape.batch * shape.seq * shape.heads * dim, 0);
  std::fill(dk, dk + shape.batch * shape.seq * shape.kv_heads * dim, 0);
  std::fill(dv, dv + shape.batch * shape.seq * shape.kv_heads * dim, 0);
  ForHeads(shape, [&](const Head& head) {
    for (int64_t query = 0; query < shape.seq; ++query) {
      const int64_t at_q = head.Query(query);
      const double mean = Dot(dy + at_q, y + at_q, dim);  // of the score's gradient, under p
      for (int64_t key = 0; key < head.KeysSeen(query); ++key) {
        const int64_t at_k = head.Key(key);
        const double score = head.Scale() * Dot(q + at_q, k + at_k, dim);
        const double p = std::exp(score - lse[head.Lse(query)]);
        const double dscore = p * (Dot(dy + at_q, v + at_k, dim) - mean) * head.Scale();
        for (int64_t i = 0; i < dim; ++i) {
          dq[at_q + i] += dscore * k[at_k + i];
          dk[at_k + i] += dscore * q[at_q + i];
          dv[at_k + i] += p * dy[at_q + i];
        }
      }
    }
  });
}

template void AttentionForwardReference(const AttentionShape& shape, const double* q,
                                        const double* k, const double* v, double* y, double* lse);
template void AttentionForwardReference(const AttentionShape& shape, const float* q, const float* k,
                                        const float* v, float* y, float* lse);
template void AttentionBackwardReference(const AttentionShape& shape, const double* q,
                                         const double* k, const double* v, const double* y,
                                         const double* lse, const double* dy, double* dq,
                                         double* dk, double* dv);
template void AttentionBackwardReference(const AttentionShape& shape, const float* q,
                                         const float* k, const float* v, const float* y,
                                         const float* lse, const float* dy, float* dq, float* dk,
                                         float* dv);
}  // namespace shardplan::kernels
