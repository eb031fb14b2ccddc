// SPDX-License-Identifier: Apache-2.0
// Number formats of tensors, and their values on the host: what a kernel's reference and a test
// need to read and write 16- and 8-bit floats without a GPU.
//
// Conversions round to nearest, ties to even, as the GPU's do. kFloat8E4M3 is OCP's e4m3: no
// infinity, the largest value is 448, and larger ones saturate.
//
// The references beside the kernels, xReference, exist for double, which kernels are held against,
// and those of a dense step for float too, which the host computes with.
#pragma once
#include <cstdint>
#include <vector>

namespace shardplan::kernels {

enum class DType { kFloat32, kFloat16, kBFloat16, kFloat8E4M3 };

const char* NameOf(DType dtype);  // as the records spell it: fp32, fp16, bf16, fp8
int64_t SizeOf(DType dtype);      // bytes of one element
// Half the distance from 1 to the next larger number: the largest relative error of one rounding.
double UnitRoundoff(DType dtype);
double LargestOf(DType dtype);

// The nearest number of the format.
double Round(double value, DType dtype);
// The bytes of `values`, and the values of `count` elements at `data`.
std::vector<std::byte> Encode(const std::vector<double>& values, DType dtype);
std::vector<double> Decode(const void* data, int64_t count, DType dtype);
}  // namespace shardplan::kernels
