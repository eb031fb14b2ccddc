// SPDX-License-Identifier: Apache-2.0
// Number formats of what probes move and multiply, and single elements of arrays in them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardplan::probe {

enum class Dtype : std::uint8_t {
  kFp64,
  kFp32,
  kTf32,  // fp32 in memory, multiplied with 10 bits of mantissa
  kFp16,
  kBf16,
  kFp8,  // e4m3: no infinities, largest value 448
  kInt8,
  kUint8,
  kInt32,
  kInt64,
};
std::size_t SizeOf(Dtype dtype);
const char* Name(Dtype dtype);  // "bf16"
std::optional<Dtype> DtypeOf(std::string_view name);
std::vector<std::string> DtypeNames();
// The largest n such that all whole numbers from 0 to n are exact (at most 2^30).
std::int64_t LargestExact(Dtype dtype);

// Element `index` of an array; Store rounds to the nearest.
double Load(Dtype dtype, const void* array, std::size_t index);
void Store(Dtype dtype, void* array, std::size_t index, double value);
// to[i] = a[i] + b[i], each sum rounded. `to` may be `a` or `b`.
void AddArrays(Dtype dtype, void* to, const void* a, const void* b, std::size_t count);
}  // namespace shardplan::probe
