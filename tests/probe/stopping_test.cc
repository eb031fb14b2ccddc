// SPDX-License-Identifier: Apache-2.0
#include "probe/stopping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace shardplan::probe {
namespace {

std::vector<double> LogNormal(unsigned seed, int count, double spread) {
  std::mt19937 random(seed);
  std::lognormal_distribution<double> draw(0, spread);
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) samples.push_back(draw(random));
  return samples;
}

TEST(Percentile, IsLinearBetweenSamples) {
  EXPECT_DOUBLE_EQ(Percentile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Percentile({10, 20, 30}, 0.1), 12);
  EXPECT_DOUBLE_EQ(Percentile({7}, 0.9), 7);
}

// The interval holds the true median (1, of this distribution) as often as it says.
TEST(MedianError, CoversTheMedianNineteenTimesInTwenty) {
  for (const int count : {8, 20, 100}) {
    int covered = 0;
    constexpr int kTrials = 2000;
    for (unsigned seed = 0; seed < kTrials; ++seed) {
      std::vector<double> samples = LogNormal(seed, count, 0.3);
      std::sort(samples.begin(), samples.end());
      const double rank = std::floor((count - 1.96 * std::sqrt(count)) / 2);
      const auto low = static_cast<std::size_t>(std::max(rank, 1.0) - 1);
      const double below = samples[low], above = samples[samples.size() - 1 - low];
      if (below <= 1 && 1 <= above) ++covered;
      const double median = Percentile(samples, 0.5);
      ASSERT_DOUBLE_EQ(MedianError(samples), (above - below) / 2 / median) << "seed " << seed;
    }
    EXPECT_GT(covered, kTrials * 0.94) << count << " samples";
  }
}

TEST(MedianError, BoundsNothingWithFewSamples) {
  EXPECT_TRUE(std::isinf(MedianError({1, 1, 1, 1, 1})));
  EXPECT_EQ(MedianError({1, 1, 1, 1, 1, 1}), 0);
}

TEST(Outliers, AreFarFromTheBulk) {
  EXPECT_EQ(Outliers({10, 11, 12, 11, 10, 12, 11, 90}), 1);
  EXPECT_EQ(Outliers({10, 11, 12, 11, 10, 12, 11, 13}), 0);
}

TEST(Judge, SteadySamplesEndEarlyAndScatteredOnesGoOn) {
  const StoppingRule rule{.relative_error = 0.02, .time_limit = {100}, .min_samples = 8};
  EXPECT_EQ(Judge(rule, std::vector<double>(7, 1.0), {7}), Stop::kGoOn) << "below min_samples";
  EXPECT_EQ(Judge(rule, std::vector<double>(8, 1.0), {8}), Stop::kPrecise);
  EXPECT_EQ(Judge(rule, LogNormal(1, 40, 0.5), {40}), Stop::kGoOn);
}

TEST(Judge, LimitsEndWhatWillNotSettle) {
  const StoppingRule rule{
      .relative_error = 0.001, .time_limit = {3}, .min_samples = 5, .max_samples = 50};
  EXPECT_EQ(Judge(rule, LogNormal(2, 50, 0.5), {1}), Stop::kMaxSamples);
  EXPECT_EQ(Judge(rule, LogNormal(2, 2, 0.5), {3}), Stop::kTimeLimit);
  EXPECT_EQ(Judge(rule, {}, {3}), Stop::kGoOn) << "no samples say nothing";
}

// More samples of one distribution never leave the median less certain by more than chance.
TEST(Judge, PrecisionComesWithSamples) {
  EXPECT_LT(MedianError(LogNormal(3, 400, 0.3)), MedianError(LogNormal(3, 30, 0.3)) / 2);
}
}  // namespace
}  // namespace shardplan::probe
