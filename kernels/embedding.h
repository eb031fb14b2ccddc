// SPDX-License-Identifier: Apache-2.0
// Embedding of token ids, over a table whose rows may be cut over ranks (vocabulary parallel).
//
// Forward: a token whose id lies in another rank's rows reads as zeros, so that a sum over ranks
// is the whole lookup. Backward: adds the tokens' gradients onto the table's, which gradient
// accumulation keeps in fp32; the order of the additions is not fixed.
// Bytes moved at least, in rows of data: forward 2, backward 1 and twice a row of fp32.
#pragma once
#include <cstdint>

#include "kernels/dtype.h"
#include "kernels/stream.h"

namespace shardplan::kernels {

struct EmbeddingShape {
  int64_t tokens = 0;
  int64_t columns = 0;    // whole 16-byte packs
  int64_t first_row = 0;  // the id of the table's first row
  int64_t rows = 0;       // of the table here
};

template <class Real>
void EmbeddingForwardReference(const EmbeddingShape& shape, const int32_t* ids, const Real* table,
                               Real* y);
template <class Real>
void EmbeddingBackwardReference(const EmbeddingShape& shape, const int32_t* ids, const Real* dy,
                                Real* dtable);

void EmbeddingForward(const EmbeddingShape& shape, DType dtype, const int32_t* ids,
                      const void* table, void* y, Stream stream);
int64_t EmbeddingBackwardWorkspace(const EmbeddingShape& shape);  // bytes
// REQUIRES: tokens < 2^31.
void EmbeddingBackward(const EmbeddingShape& shape, DType dtype, const int32_t* ids, const void* dy,
                       float* dtable, void* workspace, Stream stream);
}  // namespace shardplan::kernels
