// SPDX-License-Identifier: Apache-2.0
// Cross-entropy over logits whose columns may be cut over ranks (vocabulary parallel).
//
// Each rank sums up its columns of a row in one pass (online softmax); the ranks exchange 12 bytes
// a row and combine them; each then turns its logits into their gradient in place:
//   loss = log(sum exp(logit)) - logit[target]
//   dlogit[v] = scale * (exp(logit[v]) / sum exp(logit) - [v = target])
// A row whose target is kIgnored has no loss and a gradient of zero.
// Bytes moved at least, in rows of logits: 1 forward, 2 backward.
#pragma once
#include <cstdint>

#include "kernels/dtype.h"
#include "kernels/stream.h"

namespace shardplan::kernels {

inline constexpr int32_t kIgnored = -100;  // as PyTorch's ignore_index

struct CrossEntropyShape {
  int64_t rows = 0;
  int64_t columns = 0;       // this rank's part of the vocabulary; whole 16-byte packs
  int64_t first_column = 0;  // the vocabulary index of its first
};

// What a row's logits come to: `sum` is relative to `largest`; `target` is 0 on ranks without it.
template <class Number>
struct SoftmaxStatistics {
  Number largest;
  Number sum;
  Number target;
};

template <class Real>
void CrossEntropyStatisticsReference(const CrossEntropyShape& shape, const Real* logits,
                                     const int32_t* targets, SoftmaxStatistics<Real>* statistics);
// `parts`: [ranks, rows]. Writes `whole` and, where it is not null, `losses`: [rows].
template <class Real>
void CrossEntropyCombineReference(int64_t ranks, int64_t rows, const SoftmaxStatistics<Real>* parts,
                                  const int32_t* targets, SoftmaxStatistics<Real>* whole,
                                  Real* losses);
template <class Real>
void CrossEntropyGradientReference(const CrossEntropyShape& shape, double scale,
                                   const SoftmaxStatistics<Real>* whole, const int32_t* targets,
                                   Real* logits);

void CrossEntropyStatistics(const CrossEntropyShape& shape, DType dtype, const void* logits,
                            const int32_t* targets, SoftmaxStatistics<float>* statistics,
                            Stream stream);
void CrossEntropyCombine(int64_t ranks, int64_t rows, const SoftmaxStatistics<float>* parts,
                         const int32_t* targets, SoftmaxStatistics<float>* whole, float* losses,
                         Stream stream);
void CrossEntropyGradient(const CrossEntropyShape& shape, DType dtype, float scale,
                          const SoftmaxStatistics<float>* whole, const int32_t* targets,
                          void* logits, Stream stream);
}  // namespace shardplan::kernels
