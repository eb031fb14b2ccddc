// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "kernels/quantize.h"
#include "kernels/random_fill.h"
#include "kernels/top_k.h"
#include "tests/kernels/gpu/on_device.h"

namespace shardplan::kernels {
namespace {

using QuantizeOnDevice = OnDeviceIn;

TEST_P(QuantizeOnDevice, CastsRoundAsTheHostDoes) {
  const int64_t elements = 100003;
  for (const DType to : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    const Vector x = random_.Normal(elements, GetParam());
    const Tensor gx(x, GetParam()), gy(elements, to);
    Cast(elements, GetParam(), gx.get(), to, gy.get(), nullptr);
    Vector want = x;
    for (double& value : want) value = Round(value, to);
    EXPECT_EQ(gy.Read(), want) << NameOf(to);
  }
}

// A scale that saturates some; powers of two scale without rounding.
TEST_P(QuantizeOnDevice, Fp8RoundsAsTheHostDoesAndTracksTheLargest) {
  const int64_t elements = 100003;
  const Vector x = random_.Normal(elements, GetParam());
  const Tensor gx(x, GetParam()), gy(elements, DType::kFloat8E4M3),
      scale(Vector{256}, DType::kFloat32), amax(Vector{0.125}, DType::kFloat32),
      alone(Vector{1000}, DType::kFloat32);
  QuantizeFp8(elements, GetParam(), gx.get(), scale.floats(), gy.get(), amax.floats(), nullptr);
  Amax(elements, GetParam(), gx.get(), alone.floats(), nullptr);
  Vector want = x;
  for (double& value : want) value = Round(256 * value, DType::kFloat8E4M3);
  EXPECT_EQ(gy.Read(), want);
  EXPECT_EQ(amax.Read()[0], AmaxReference(elements, x.data()));
  EXPECT_EQ(alone.Read()[0], 1000);
}

// fp32 division may put a value that lies between two steps on the other one.
TEST_P(QuantizeOnDevice, Int8AgreesWithItsReference) {
  const int64_t elements = 1000 * kInt8Block;
  Vector x = random_.Normal(elements, GetParam());
  std::fill_n(x.begin(), kInt8Block, 0);
  std::vector<int8_t> want(x.size());
  Vector scales(1000);
  QuantizeInt8Reference(elements, x.data(), want.data(), scales.data());
  const Tensor gx(x, GetParam()), gscales(1000, DType::kFloat32), gback(elements, GetParam());
  const Memory gy(x.size());
  QuantizeInt8(elements, GetParam(), gx.get(), gy.as<int8_t>(), gscales.floats(), nullptr);
  DequantizeInt8(elements, GetParam(), gy.as<int8_t>(), gscales.floats(), gback.get(), nullptr);
  const std::vector<int8_t> got = gy.Read<int8_t>();
  int64_t differing = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::abs(got[i] - want[i]), 1) << i;
    differing += got[i] != want[i];
  }
  EXPECT_LE(differing, elements / 1000);
  ExpectClose(gscales.Read(), scales, Tolerance(DType::kFloat32), "scales");
  Vector back(x.size());
  const Vector read = gscales.Read();
  DequantizeInt8Reference(elements, got.data(), read.data(), back.data());
  ExpectClose(gback.Read(), back, Tolerance(GetParam()), "back");
}

TEST_P(QuantizeOnDevice, FilledNumbersAreNormal) {
  constexpr int64_t kElements = 1 << 20;
  const Tensor filled(kElements, GetParam());
  FillNormal(kElements, GetParam(), seed_, filled.get(), nullptr);
  const Vector x = filled.Read();
  constexpr double kSixDeviations = 6.0 / 1024;  // of a mean of 2^20
  EXPECT_NEAR(std::accumulate(x.begin(), x.end(), 0.0) / kElements, 0, kSixDeviations);
  EXPECT_NEAR(Dot(x, x) / kElements, 1, 1.5 * kSixDeviations);
}

TEST_P(QuantizeOnDevice, TopKTakesTheLargestMagnitudes) {
  const int64_t elements = 300007;
  for (const int64_t k : {int64_t{1}, elements / 100, elements}) {
    const Vector x = random_.Normal(elements, GetParam());
    Vector rest = x;
    std::vector<int32_t> indices(static_cast<size_t>(k));
    Vector values(static_cast<size_t>(k));
    TopKReference(elements, k, rest.data(), indices.data(), values.data());
    const double least = std::abs(values.back());

    Tensor gx(x, GetParam()), gvalues(k, GetParam());
    const Memory gindices(static_cast<size_t>(4 * k)),
        workspace(static_cast<size_t>(TopKWorkspace()));
    TopK(elements, k, GetParam(), gx.get(), gindices.as<int32_t>(), gvalues.get(), workspace.get(),
         nullptr);
    const std::vector<int32_t> got = gindices.Read<int32_t>();
    const Vector got_values = gvalues.Read();
    EXPECT_EQ(std::set<int32_t>(got.begin(), got.end()).size(), got.size()) << "distinct, k " << k;
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(got[i] >= 0 && got[i] < elements) << got[i];
      ASSERT_EQ(got_values[i], x[static_cast<size_t>(got[i])]);
      ASSERT_GE(std::abs(got_values[i]), least);
    }
    ScatterPairs(k, GetParam(), gindices.as<int32_t>(), gvalues.get(), gx.get(), nullptr);
    EXPECT_EQ(gx.Read(), x) << "what was taken and what was left are the whole, k " << k;
  }
}
SHARDPLAN_IN_EACH_FORMAT(QuantizeOnDevice);
}  // namespace
}  // namespace shardplan::kernels
