// SPDX-License-Identifier: Apache-2.0
// Numbers and quantities as text: `80GiB`, `400Gb/s`, `989TFLOP/s`, `3us`, `2e12`.
//
// GB is 10^9 and GiB 2^30 bytes; Gb is 10^9 bits. Values come out in bytes, seconds, FLOPs, watts.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardplan {

enum class Dimension { kNone, kBytes, kBytesPerSecond, kFlopsPerSecond, kSeconds, kWatts };

enum class NumberFault { kNone, kNotANumber, kNotFinite, kUnknownUnit };
struct ParsedNumber {
  double value = 0;
  NumberFault fault = NumberFault::kNone;
  std::string_view unit;  // what stands behind the number
};

// A finite decimal number, then (but for kNone) blanks and a unit of `dimension`, or none.
ParsedNumber ParseNumber(std::string_view text, Dimension dimension);
// A whole number: digits, or a decimal number whose value is whole (`1e3`, `8.0`).
std::optional<std::int64_t> ParseWhole(std::string_view text);
// What may be written, for error messages: "bytes, as in 80GiB; units B, kB, ...".
std::string Expectation(Dimension dimension);
// "did you mean GiB? " for a mistyped unit of `dimension`, or nothing.
std::string DidYouMeanUnit(std::string_view unit, Dimension dimension);
// Shortest decimal text that parses back to `value`.
std::string NumberText(double value);
}  // namespace shardplan
