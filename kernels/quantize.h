// SPDX-License-Identifier: Apache-2.0
// Change of number format: casts, fp8 with one scale a tensor, int8 with one scale a block.
//
// Bytes moved at least: the input read once, the output written once.
#pragma once
#include <cstdint>

#include "kernels/dtype.h"
#include "kernels/stream.h"

namespace shardplan::kernels {

inline constexpr int64_t kInt8Block = 256;  // elements that share a scale

// `elements`: any number for casts; whole blocks for int8.
void Cast(int64_t elements, DType from, const void* x, DType to, void* y, Stream stream);

// The largest magnitude of x, or what `amax` held where that is more.
double AmaxReference(int64_t elements, const double* x);
void Amax(int64_t elements, DType dtype, const void* x, float* amax, Stream stream);

// y = x * scale in e4m3, saturating; amax grows to the largest |x|, as delayed scaling wants.
// scale and amax: one float each, on the device.
void QuantizeFp8(int64_t elements, DType dtype, const void* x, const float* scale, void* y,
                 float* amax, Stream stream);

// Symmetric: scale = largest magnitude of the block / 127, y = round(x / scale), ties to even. A
// block of zeros has a scale of zero.
void QuantizeInt8Reference(int64_t elements, const double* x, int8_t* y, double* scales);
void DequantizeInt8Reference(int64_t elements, const int8_t* y, const double* scales, double* x);
void QuantizeInt8(int64_t elements, DType dtype, const void* x, int8_t* y, float* scales,
                  Stream stream);
void DequantizeInt8(int64_t elements, DType dtype, const int8_t* y, const float* scales, void* x,
                    Stream stream);
}  // namespace shardplan::kernels
