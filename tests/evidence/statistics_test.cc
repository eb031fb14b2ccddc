// SPDX-License-Identifier: Apache-2.0
#include "tests/evidence/statistics.h"

#include <gtest/gtest.h>

namespace shardplan::evidence {
namespace {

// Of five values the median is the third, and nine tenths lie below the fifth.
TEST(Quantile, IsTheValueAtTheRank) {
  const std::vector<double> values{5, 1, 4, 2, 3};
  EXPECT_EQ(Quantile(values, 0), 1);
  EXPECT_EQ(Quantile(values, 0.5), 3);
  EXPECT_EQ(Quantile(values, 0.9), 5);
  EXPECT_EQ(Quantile(values, 1), 5);
  EXPECT_EQ(Quantile({7}, 0.5), 7);
}

// Of an even number the upper of the two in the middle counts.
TEST(Quantile, OfAnEvenNumberIsTheUpperOne) { EXPECT_EQ(Quantile({1, 2, 3, 4}, 0.5), 3); }

// Sizes count for all but the bias.
TEST(Errors, AreOfSizesAndTheBiasIsSigned) {
  const Errors errors = ErrorsOf({-0.4, 0.1, -0.3, 0.2, -0.5});
  EXPECT_EQ(errors.rows, 5);
  EXPECT_DOUBLE_EQ(errors.mean, 0.3);
  EXPECT_EQ(errors.median, 0.3);
  EXPECT_EQ(errors.p90, 0.5);
  EXPECT_EQ(errors.worst, 0.5);
  EXPECT_EQ(errors.bias, -0.3);
  EXPECT_EQ(ErrorsOf({}).rows, 0);
}

TEST(RankCorrelation, IsOneInOrderAndMinusOneInReverse) {
  EXPECT_DOUBLE_EQ(*RankCorrelation({{1, 10}, {2, 40}, {3, 90}}), 1);
  EXPECT_DOUBLE_EQ(*RankCorrelation({{1, 3}, {2, 2}, {3, 1}}), -1);
}

// One swap of neighbours among four: 1 - 6 * 2 / (4 * 15).
TEST(RankCorrelation, OfOneSwapAmongFour) {
  EXPECT_DOUBLE_EQ(*RankCorrelation({{1, 1}, {2, 3}, {3, 2}, {4, 4}}), 0.8);
}

// Ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3: 4.5 / sqrt(4.5 * 5).
TEST(RankCorrelation, SharesRanksAmongTies) {
  EXPECT_NEAR(*RankCorrelation({{1, 1}, {2, 2}, {2, 3}, {9, 4}}), 0.948683, 1e-6);
}

TEST(RankCorrelation, OfTiesAloneIsNone) {
  EXPECT_FALSE(RankCorrelation({{1, 1}, {1, 2}, {1, 3}}).has_value());
}

// The prediction picks the second plan, which takes 12 where the best takes 10.
TEST(ChoiceRegret, IsTheChosenOverTheBest) {
  EXPECT_DOUBLE_EQ(ChoiceRegret({{5, 10}, {4, 12}, {6, 11}}), 1.2);
  EXPECT_DOUBLE_EQ(ChoiceRegret({{4, 10}, {5, 12}}), 1);
}
}  // namespace
}  // namespace shardplan::evidence
