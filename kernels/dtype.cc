// SPDX-License-Identifier: Apache-2.0
#include "kernels/dtype.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "planner/base/check.h"

namespace shardplan::kernels {
namespace {

struct Format {
  const char* name;
  int exponent_bits;
  int mantissa_bits;  // stored; the leading one is not
  double largest;
  bool has_infinity;

  int Bits() const { return 1 + exponent_bits + mantissa_bits; }
  int Bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int LeastExponent() const { return 1 - Bias(); }
};

const Format& FormatOf(DType dtype) {
  static const Format kFormats[] = {
      {"fp32", 8, 23, std::numeric_limits<float>::max(), true},
      {"fp16", 5, 10, 65504, true},
      {"bf16", 8, 7, 0x1.FEp127, true},
      {"fp8", 4, 3, 448, false},
  };
  return kFormats[static_cast<int>(dtype)];
}

double RoundTo(double value, const Format& format) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), format.LeastExponent());
  const double step = std::ldexp(1.0, exponent - format.mantissa_bits);
  const double rounded = std::nearbyint(value / step) * step;
  if (std::abs(rounded) <= format.largest) return rounded;
  return std::copysign(
      format.has_infinity ? std::numeric_limits<double>::infinity() : format.largest, value);
}

uint32_t BitsOf(double value, const Format& format) {
  const uint32_t sign = std::signbit(value) ? 1u << (format.Bits() - 1) : 0;
  const uint32_t top = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
  if (std::isnan(value)) return sign | top | ((1u << format.mantissa_bits) - 1);
  const double magnitude = std::abs(RoundTo(value, format));
  if (std::isinf(magnitude)) return sign | (format.has_infinity ? top : top | 6);
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), format.LeastExponent());
  // Below the least exponent the leading one is missing, and adding it carries into the exponent.
  const auto mantissa =
      static_cast<uint32_t>(std::ldexp(magnitude, format.mantissa_bits - exponent));
  const auto biased = static_cast<uint32_t>(exponent - format.LeastExponent());
  return sign | ((biased << format.mantissa_bits) + mantissa);
}

double ValueOf(uint32_t bits, const Format& format) {
  const uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const uint32_t all_ones = (1u << format.exponent_bits) - 1;
  const uint32_t biased = (bits >> format.mantissa_bits) & all_ones;
  const double sign = (bits >> (format.Bits() - 1)) & 1 ? -1 : 1;
  if (biased == all_ones && format.has_infinity)
    return mantissa ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  if (biased == all_ones && mantissa == (1u << format.mantissa_bits) - 1)
    return std::numeric_limits<double>::quiet_NaN();
  const double leading = biased ? 1u << format.mantissa_bits : 0;
  const int exponent =
      static_cast<int>(biased ? biased - 1 : 0) + format.LeastExponent() - format.mantissa_bits;
  return sign * std::ldexp(leading + mantissa, exponent);
}
}  // namespace

const char* NameOf(DType dtype) { return FormatOf(dtype).name; }
int64_t SizeOf(DType dtype) { return FormatOf(dtype).Bits() / 8; }
double UnitRoundoff(DType dtype) { return std::ldexp(1.0, -FormatOf(dtype).mantissa_bits - 1); }
double LargestOf(DType dtype) { return FormatOf(dtype).largest; }
double Round(double value, DType dtype) { return RoundTo(value, FormatOf(dtype)); }

std::vector<std::byte> Encode(const std::vector<double>& values, DType dtype) {
  const auto size = static_cast<size_t>(SizeOf(dtype));
  std::vector<std::byte> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t bits = BitsOf(values[i], FormatOf(dtype));
    std::memcpy(&bytes[i * size], &bits, size);  // little-endian, as the GPU is
  }
  return bytes;
}

std::vector<double> Decode(const void* data, int64_t count, DType dtype) {
  SHARDPLAN_CHECK(count >= 0);
  const auto size = static_cast<size_t>(SizeOf(dtype));
  const auto* bytes = static_cast<const std::byte*>(data);
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, bytes + i * size, size);
    values[i] = ValueOf(bits, FormatOf(dtype));
  }
  return values;
}
}  // namespace shardplan::kernels
