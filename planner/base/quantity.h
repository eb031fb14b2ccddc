// SPDX-License-Identifier: Apache-2.0
// Physical quantities as types: bytes, FLOPs, seconds and their quotients.
//
// A Quantity is one double with the exponents of byte, FLOP and second in its type, so that mixing
// units does not compile. Sizes are bytes, GB is 10^9 and GiB 2^30; a bandwidth is per direction.
#pragma once
#include <compare>

namespace shardplan {

template <int Byte, int Flop, int Second>
struct Quantity {
  double value = 0;

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator-() const { return {-value}; }
  constexpr Quantity& operator+=(Quantity o) { return value += o.value, *this; }
  constexpr Quantity& operator-=(Quantity o) { return value -= o.value, *this; }
  constexpr Quantity& operator*=(double f) { return value *= f, *this; }
  constexpr Quantity& operator/=(double f) { return value /= f, *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
  friend constexpr Quantity operator*(Quantity a, double f) { return {a.value * f}; }
  friend constexpr Quantity operator*(double f, Quantity a) { return {a.value * f}; }
  friend constexpr Quantity operator/(Quantity a, double f) { return {a.value / f}; }
};

template <int B1, int F1, int S1, int B2, int F2, int S2>
constexpr auto operator*(Quantity<B1, F1, S1> a, Quantity<B2, F2, S2> b) {
  if constexpr (B1 + B2 == 0 && F1 + F2 == 0 && S1 + S2 == 0)
    return a.value * b.value;
  else
    return Quantity<B1 + B2, F1 + F2, S1 + S2>{a.value * b.value};
}
template <int B1, int F1, int S1, int B2, int F2, int S2>
constexpr auto operator/(Quantity<B1, F1, S1> a, Quantity<B2, F2, S2> b) {
  if constexpr (B1 == B2 && F1 == F2 && S1 == S2)
    return a.value / b.value;
  else
    return Quantity<B1 - B2, F1 - F2, S1 - S2>{a.value / b.value};
}

using Bytes = Quantity<1, 0, 0>;
using Flops = Quantity<0, 1, 0>;
using Seconds = Quantity<0, 0, 1>;
using BytesPerSecond = Quantity<1, 0, -1>;
using FlopsPerSecond = Quantity<0, 1, -1>;

template <int B, int F, int S>
constexpr Quantity<B, F, S> Max(Quantity<B, F, S> a, Quantity<B, F, S> b) {
  return a < b ? b : a;
}
template <int B, int F, int S>
constexpr Quantity<B, F, S> Min(Quantity<B, F, S> a, Quantity<B, F, S> b) {
  return b < a ? b : a;
}

inline namespace literals {
constexpr Bytes operator""_KiB(unsigned long long v) { return {static_cast<double>(v) * 1024}; }
constexpr Bytes operator""_MiB(unsigned long long v) {
  return {static_cast<double>(v) * (1 << 20)};
}
constexpr Bytes operator""_GiB(unsigned long long v) {
  return {static_cast<double>(v) * (1 << 30)};
}
constexpr Bytes operator""_GiB(long double v) { return {static_cast<double>(v) * (1 << 30)}; }
constexpr BytesPerSecond operator""_GBps(unsigned long long v) {
  return {static_cast<double>(v) * 1e9};
}
constexpr BytesPerSecond operator""_GBps(long double v) { return {static_cast<double>(v) * 1e9}; }
constexpr FlopsPerSecond operator""_TFLOPps(unsigned long long v) {
  return {static_cast<double>(v) * 1e12};
}
constexpr Seconds operator""_us(unsigned long long v) { return {static_cast<double>(v) * 1e-6}; }
constexpr Seconds operator""_us(long double v) { return {static_cast<double>(v) * 1e-6}; }
constexpr Seconds operator""_ms(unsigned long long v) { return {static_cast<double>(v) * 1e-3}; }
constexpr Seconds operator""_s(unsigned long long v) { return {static_cast<double>(v)}; }
}  // namespace literals
}  // namespace shardplan
