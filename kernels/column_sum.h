// SPDX-License-Identifier: Apache-2.0
// Sums of the columns of a matrix of fp32 partial sums: the last step of a gradient that is summed
// over rows (weights of a norm, biases). In a fixed order, so that a run repeats to the bit.
#pragma once
#include <cstdint>

#include "kernels/stream.h"

namespace shardplan::kernels {

// out[c] = sum over r of partials[r * columns + c].
// REQUIRES: columns is a multiple of 4.
void ColumnSum(int64_t rows, int64_t columns, const float* partials, float* out, Stream stream);
}  // namespace shardplan::kernels
