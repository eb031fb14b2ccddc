// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/kernel_time.h"

#include <gtest/gtest.h>

#include "tests/support/cases.h"

namespace shardplan {
namespace {
using testing::DgxA100;
using testing::DgxH100;
using testing::H200;

double Rate(const Gpu& gpu, double m, double n, double k) {
  return 2 * m * n * k / (GemmTime(gpu, Number::kBf16, m, n, k) - gpu.launch).value;
}

// 132 multiprocessors take 132 tiles of 128 x 256 at once: one tile more is a wave of its own, one
// column more a tile of its own.
TEST(GemmTime, FallsOffBehindWholeWavesAndWholeTiles) {
  const Gpu gpu = DgxH100(1).gpu;
  ASSERT_EQ(gpu.sm_count, 132);
  const double whole = Rate(gpu, 128 * 66, 512, 8192);
  EXPECT_LT(Rate(gpu, 128 * 67, 512, 8192), 0.8 * whole);
  EXPECT_LT(Rate(gpu, 128 * 66, 520, 8192), 0.8 * whole);
  EXPECT_NEAR(Rate(gpu, 128 * 132, 512, 8192), whole, 1e-6 * whole);
}

// Head sizes that are no multiple of 8 leave the tensor cores (the BLOOM chronicles: 108 of 13824
// over 128 heads is 0.7 of the others' rate).
TEST(GemmTime, PunishesOddSizes) {
  const Gpu gpu = DgxA100(1).gpu;
  EXPECT_LT(Rate(gpu, 2048, 2048, 108), 0.6 * Rate(gpu, 2048, 2048, 112));
}

TEST(FlashTime, OlderKernelsAreNeverFaster) {
  for (const Gpu& gpu : {DgxA100(1).gpu, DgxH100(1).gpu, H200(1, 8).gpu})
    for (double head_dim : {64.0, 128.0}) {
      const auto time = [&](FlashKernel kernel) {
        return FlashTime(gpu, Number::kBf16, {1e12}, head_dim, 8192, kernel);
      };
      EXPECT_LE(time(FlashKernel::kNewest), time(FlashKernel::kVersion2)) << gpu.name << head_dim;
      EXPECT_LE(time(FlashKernel::kVersion2), time(FlashKernel::kVersion1)) << gpu.name << head_dim;
    }
}

// arXiv 2407.08608, figure 5: FlashAttention-2 at 350 TFLOP/s on an H100, at 16k tokens and head
// dimension 128.
TEST(FlashTime, SecondVersionStaysAtItsRateOnHopper) {
  const Gpu gpu = DgxH100(1).gpu;
  const Seconds time =
      FlashTime(gpu, Number::kBf16, {1e14}, 128, 16384, FlashKernel::kVersion2) - gpu.launch;
  EXPECT_NEAR(1e14 / time.value, 350e12 * 16384 / (16384 + 600), 1e9);
}

TEST(PowerFactor, FallsWithTheLimit) {
  Gpu gpu = DgxH100(1).gpu;
  EXPECT_EQ(PowerFactor(gpu), 1);
  gpu.tdp_watts = 700;
  gpu.power_limit_watts = 500;
  EXPECT_NEAR(PowerFactor(gpu), 0.817, 0.001);  // (500 / 700)^0.6
}
}  // namespace
}  // namespace shardplan
