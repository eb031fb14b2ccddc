// SPDX-License-Identifier: Apache-2.0
#include "probe/dtype.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace shardplan::probe {
namespace {

double RoundTrip(Dtype dtype, double value) {
  std::array<std::byte, 16> memory{};
  Store(dtype, memory.data(), 1, value);
  return Load(dtype, memory.data(), 1);
}

TEST(Dtype, NamesReadBack) {
  for (const std::string& name : DtypeNames()) EXPECT_EQ(Name(DtypeOf(name).value()), name);
  EXPECT_FALSE(DtypeOf("fp12"));
}

TEST(Dtype, WholeNumbersUpToLargestExactAreExact) {
  for (const std::string& name : DtypeNames()) {
    const Dtype dtype = DtypeOf(name).value();
    const std::int64_t most = LargestExact(dtype);
    for (std::int64_t n = 0; n <= std::min<std::int64_t>(most, 3000); ++n)
      ASSERT_EQ(RoundTrip(dtype, static_cast<double>(n)), static_cast<double>(n)) << name;
    EXPECT_EQ(RoundTrip(dtype, static_cast<double>(most)), static_cast<double>(most)) << name;
  }
}

TEST(Dtype, OneBeyondLargestExactIsNot) {
  for (const Dtype dtype : {Dtype::kFp16, Dtype::kBf16, Dtype::kFp8, Dtype::kFp32}) {
    const double beyond = static_cast<double>(LargestExact(dtype)) + 1;
    EXPECT_NE(RoundTrip(dtype, beyond), beyond) << Name(dtype);
  }
}

TEST(Dtype, RoundsToTheNearestWithTiesToEven) {
  EXPECT_EQ(RoundTrip(Dtype::kFp8, 17), 16);
  EXPECT_EQ(RoundTrip(Dtype::kFp8, 19), 20);
  EXPECT_EQ(RoundTrip(Dtype::kFp8, 1e6), 448);
  EXPECT_EQ(RoundTrip(Dtype::kFp8, -0.001953125), -0.001953125) << "the least subnormal";
  EXPECT_EQ(RoundTrip(Dtype::kFp16, 2049), 2048);
  EXPECT_EQ(RoundTrip(Dtype::kFp16, 2051), 2052);
  EXPECT_TRUE(std::isinf(RoundTrip(Dtype::kFp16, 1e6)));
  EXPECT_EQ(RoundTrip(Dtype::kBf16, 257), 256);
  EXPECT_EQ(RoundTrip(Dtype::kBf16, 259), 260);
  EXPECT_EQ(RoundTrip(Dtype::kFp16, std::ldexp(1, -24)), std::ldexp(1, -24));
}

TEST(Dtype, SumsAreRounded) {
  for (const Dtype dtype : {Dtype::kFp16, Dtype::kBf16, Dtype::kFp8, Dtype::kInt32, Dtype::kFp64}) {
    std::array<std::byte, 32> a{}, b{};
    for (std::size_t i = 0; i < 4; ++i) {
      Store(dtype, a.data(), i, static_cast<double>(i));
      Store(dtype, b.data(), i, 3);
    }
    AddArrays(dtype, a.data(), a.data(), b.data(), 4);
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(Load(dtype, a.data(), i), static_cast<double>(i) + 3) << Name(dtype);
  }
}
}  // namespace
}  // namespace shardplan::probe
