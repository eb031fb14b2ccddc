// SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding.h"

namespace shardplan::kernels {

template <class Real>
void EmbeddingForwardReference(const EmbeddingShape& shape, const int32_t* ids, const Real* table,
                               Real* y) {
  for (int64_t token = 0; token < shape.tokens; ++token) {
    const int64_t row = ids[token] - shape.first_row;
    const bool is_here = row >= 0 && row < shape.rows;
    for (int64_t c = 0; c < shape.columns; ++c)
      y[token * shape.columns + c] = is_here ? table[row * shape.columns + c] : 0;
  }
}

template <class Real>
void EmbeddingBackwardReference(const EmbeddingShape& shape, const int32_t* ids, const Real* dy,
                                Real* dtable) {
  for (int64_t token = 0; token < shape.tokens; ++token) {
    const int64_t row = ids[token] - shape.first_row;
    if (row < 0 || row >= shape.rows) continue;
    for (int64_t c = 0; c < shape.columns; ++c)
      dtable[row * shape.columns + c] += dy[token * shape.columns + c];
  }
}

template void EmbeddingForwardReference(const EmbeddingShape& shape, const int32_t* ids,
                                        const double* table, double* y);
template void EmbeddingForwardReference(const EmbeddingShape& shape, const int32_t* ids,
                                        const float* table, float* y);
template void EmbeddingBackwardReference(const EmbeddingShape& shape, const int32_t* ids,
                                         const double* dy, double* dtable);
template void EmbeddingBackwardReference(const EmbeddingShape& shape, const int32_t* ids,
                                         const float* dy, float* dtable);
}  // namespace shardplan::kernels
