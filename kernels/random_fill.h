// SPDX-License-Identifier: Apache-2.0
// Random operands for measurements, made where they are needed. A function of seed and index alone.
//
// Matrix units draw less power on zeros, and run faster than on real data: so operands are normal,
// as activations and weights are.
#pragma once
#include <cstdint>

#include "kernels/dtype.h"
#include "kernels/stream.h"

namespace shardplan::kernels {

// Normal with mean 0 and deviation 1; any format.
void FillNormal(int64_t elements, DType dtype, uint64_t seed, void* out, Stream stream);
// Uniform over 0 to below - 1.
void FillIntegers(int64_t elements, int32_t below, uint64_t seed, int32_t* out, Stream stream);
}  // namespace shardplan::kernels
