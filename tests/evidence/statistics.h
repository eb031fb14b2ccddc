// SPDX-License-Identifier: Apache-2.0
// The few statistics that the error table is made of.
#pragma once
#include <optional>
#include <utility>
#include <vector>

namespace shardplan::evidence {

// The value at rank floor(q n) of n sorted values, the last at most. REQUIRES: !values.empty().
double Quantile(std::vector<double> values, double q);

// Of signed errors: quantiles of their absolute values, `bias` the median as signed.
struct Errors {
  int rows = 0;
  double mean = 0, median = 0, p90 = 0, worst = 0, bias = 0;
};
Errors ErrorsOf(const std::vector<double>& signed_errors);  // zeros of none

// Predicted and measured values of one thing.
using Pair = std::pair<double, double>;

// Spearman's rank correlation, ties at their mean rank; none where all of one side tie.
std::optional<double> RankCorrelation(const std::vector<Pair>& pairs);

// How much longer than the best the plan takes that the prediction would choose: 1 is the best one.
// Pairs are times. REQUIRES: !pairs.empty().
double ChoiceRegret(const std::vector<Pair>& pairs);
}  // namespace shardplan::evidence
