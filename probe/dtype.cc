// SPDX-License-Identifier: Apache-2.0
#include "probe/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "probe/with_type.h"

namespace shardplan::probe {
namespace {

struct Row {
  Dtype dtype;
  const char* name;
  std::size_t bytes;
  std::int64_t exact;
};
constexpr std::int64_t kMost = std::int64_t{1} << 30;
constexpr std::array<Row, 10> kRows{{{Dtype::kFp64, "fp64", 8, kMost},
                                     {Dtype::kFp32, "fp32", 4, 1 << 24},
                                     {Dtype::kTf32, "tf32", 4, 1 << 24},
                                     {Dtype::kFp16, "fp16", 2, 1 << 11},
                                     {Dtype::kBf16, "bf16", 2, 1 << 8},
                                     {Dtype::kFp8, "fp8", 1, 1 << 4},
                                     {Dtype::kInt8, "int8", 1, 127},
                                     {Dtype::kUint8, "uint8", 1, 255},
                                     {Dtype::kInt32, "int32", 4, kMost},
                                     {Dtype::kInt64, "int64", 8, kMost}}};
const Row& RowOf(Dtype dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

// The 16-bit formats and e4m3 as what their bits say.
struct Half {
  std::uint16_t bits;
};
struct Brain {
  std::uint16_t bits;
};
struct Eight {
  std::uint8_t bits;
};

// A small float of `kExponent` and `kMantissa` bits below its sign; subnormals included.
template <int kExponent, int kMantissa>
float Widen(unsigned bits) {
  const unsigned exponent = bits >> kMantissa & ((1u << kExponent) - 1);
  const unsigned mantissa = bits & ((1u << kMantissa) - 1);
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), 1 - kBias - kMantissa)
                              : std::ldexp(static_cast<float>(mantissa | 1u << kMantissa),
                                           static_cast<int>(exponent) - kBias - kMantissa);
  return bits >> (kExponent + kMantissa) & 1 ? -magnitude : magnitude;
}

// The same back, to the nearest, ties to even; what is too large becomes `largest`.
template <int kExponent, int kMantissa>
unsigned Narrow(float value, unsigned largest) {
  const unsigned sign = (std::signbit(value) ? 1u : 0u) << (kExponent + kMantissa);
  const float magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, 1 - kBias);  // of the leading bit; subnormals share the least
  // In units of the last place; a carry out of the mantissa moves on to the next exponent.
  const float units = std::nearbyint(std::ldexp(magnitude, kMantissa - exponent));
  const auto whole = static_cast<unsigned>(std::min(units, 65536.f));
  const unsigned bits = (static_cast<unsigned>(exponent + kBias - 1) << kMantissa) + whole;
  return sign | std::min(bits, largest);
}

float Value(Half x) {
  return (x.bits & 0x7c00) == 0x7c00 ? std::numeric_limits<float>::infinity()
                                     : Widen<5, 10>(x.bits);
}
float Value(Brain x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }
float Value(Eight x) { return Widen<4, 3>(x.bits); }
template <class T>
T Value(T x) {
  return x;
}

template <class T>
T Make(double value) {
  return static_cast<T>(value);
}
template <>
Half Make<Half>(double value) {
  return {static_cast<std::uint16_t>(Narrow<5, 10>(static_cast<float>(value), 0x7c00))};
}
template <>
Brain Make<Brain>(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
template <>
Eight Make<Eight>(double value) {
  return {static_cast<std::uint8_t>(Narrow<4, 3>(static_cast<float>(value), 0x7e))};
}

struct Small {
  using Half = probe::Half;
  using Brain = probe::Brain;
  using Eight = probe::Eight;
};
}  // namespace

std::size_t SizeOf(Dtype dtype) { return RowOf(dtype).bytes; }
const char* Name(Dtype dtype) { return RowOf(dtype).name; }
std::int64_t LargestExact(Dtype dtype) { return RowOf(dtype).exact; }

std::optional<Dtype> DtypeOf(std::string_view name) {
  for (const Row& row : kRows)
    if (name == row.name) return row.dtype;
  return std::nullopt;
}

std::vector<std::string> DtypeNames() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

double Load(Dtype dtype, const void* array, std::size_t index) {
  return WithType<Small>(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return static_cast<double>(Value(static_cast<const T*>(array)[index]));
  });
}

void Store(Dtype dtype, void* array, std::size_t index, double value) {
  WithType<Small>(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    static_cast<T*>(array)[index] = Make<T>(value);
  });
}

void AddArrays(Dtype dtype, void* to, const void* a, const void* b, std::size_t count) {
  WithType<Small>(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
    auto* sum = static_cast<T*>(to);
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;  // which wraps around where T would overflow
        sum[i] = static_cast<T>(static_cast<U>(static_cast<U>(x[i]) + static_cast<U>(y[i])));
      } else if constexpr (std::is_arithmetic_v<T>)
        sum[i] = x[i] + y[i];
      else
        sum[i] = Make<T>(Value(x[i]) + Value(y[i]));
    }
  });
}
}  // namespace shardplan::probe
