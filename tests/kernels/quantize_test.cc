// SPDX-License-Identifier: Apache-2.0
#include "kernels/quantize.h"

#include "kernels/top_k.h"
#include "tests/kernels/vectors.h"

namespace shardplan::kernels {
namespace {

class Formats : public testing::TestWithParam<DType> {};

TEST_P(Formats, EveryRoundedValueSurvivesItsBytes) {
  Vector values = Random(12).Normal(1000, GetParam());
  values.insert(values.end(), {0.0, LargestOf(GetParam()), -LargestOf(GetParam()),
                               Round(1e-3 * UnitRoundoff(GetParam()), GetParam())});
  const std::vector<std::byte> bytes = Encode(values, GetParam());
  EXPECT_EQ(Decode(bytes.data(), static_cast<int64_t>(values.size()), GetParam()), values);
}

TEST_P(Formats, RoundingErrsByNoMoreThanTheUnitRoundoff) {
  for (const double value : Random(13).Normal(1000)) {
    if (std::abs(value) < 0.1) continue;  // e4m3 has subnormals from 2^-6 down
    EXPECT_LE(std::abs(Round(value, GetParam()) - value),
              UnitRoundoff(GetParam()) * std::abs(value))
        << value;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Formats,
                         testing::Values(DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                                         DType::kFloat8E4M3),
                         [](const auto& dtype) { return NameOf(dtype.param); });

TEST(Round, TiesGoToEvenAndFp8Saturates) {
  EXPECT_EQ(Round(1 + 0x1p-8, DType::kBFloat16), 1);
  EXPECT_EQ(Round(1 + 3 * 0x1p-8, DType::kBFloat16), 1 + 0x1p-6);
  EXPECT_EQ(Round(1e6, DType::kFloat8E4M3), 448);
  EXPECT_EQ(Round(1e6, DType::kFloat16), std::numeric_limits<double>::infinity());
}

TEST(QuantizeInt8Reference, ErrsByHalfAStepOfTheBlock) {
  const Vector x = Random(14).Normal(2 * kInt8Block);
  std::vector<int8_t> y(x.size());
  Vector scales(2);
  Vector back(x.size());
  const auto elements = static_cast<int64_t>(x.size());
  QuantizeInt8Reference(elements, x.data(), y.data(), scales.data());
  DequantizeInt8Reference(elements, y.data(), scales.data(), back.data());
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_LE(std::abs(back[i] - x[i]), scales[i / kInt8Block] / 2 * (1 + 1e-12)) << i;
}

TEST(TopKReference, TakesTheLargestAndLeavesTheRest) {
  Vector x{1, -5, 2, 4, -3};
  std::vector<int32_t> indices(2);
  Vector values(2);
  TopKReference(5, 2, x.data(), indices.data(), values.data());
  EXPECT_EQ(indices, (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(values, (Vector{-5, 4}));
  EXPECT_EQ(x, (Vector{1, 0, 2, 0, -3}));
}
}  // namespace
}  // namespace shardplan::kernels
