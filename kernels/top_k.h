// SPDX-License-Identifier: Apache-2.0
// Gradient compression by top-k: the k entries of largest magnitude as (index, value) pairs, taken
// out of the tensor so that what stays is the error to feed back.
//
// Found exactly, by a radix search over the magnitudes' bits: two passes that read (fp32: three),
// one that reads and takes. The order of the pairs is not fixed, nor which of equal magnitudes are
// taken.
#pragma once
#include <cstdint>

#include "kernels/dtype.h"
#include "kernels/stream.h"

namespace shardplan::kernels {

// indices and values: [k]. x: [elements], finite; the entries taken become zero.
void TopKReference(int64_t elements, int64_t k, double* x, int32_t* indices, double* values);

int64_t TopKWorkspace();  // bytes
// REQUIRES: 0 < k <= elements < 2^31. values: as x.
void TopK(int64_t elements, int64_t k, DType dtype, void* x, int32_t* indices, void* values,
          void* workspace, Stream stream);
// x[indices[i]] += values[i]: what a receiver does with each peer's pairs. Indices are distinct.
void ScatterPairs(int64_t k, DType dtype, const int32_t* indices, const void* values, void* x,
                  Stream stream);
}  // namespace shardplan::kernels
