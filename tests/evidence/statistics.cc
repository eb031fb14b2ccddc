// SPDX-License-Identifier: Apache-2.0
#include "tests/evidence/statistics.h"

#include <algorithm>
#include <cmath>

namespace shardplan::evidence {
namespace {

// Ranks from 0; equal values share the mean of their ranks.
std::vector<double> RanksOf(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (const double value : values) {
    double below = 0, equal = 0;
    for (const double other : values) below += other < value, equal += other == value;
    ranks.push_back(below + (equal - 1) / 2);
  }
  return ranks;
}
}  // namespace

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(q * static_cast<double>(values.size()));
  return values[std::min(values.size() - 1, rank)];
}

Errors ErrorsOf(const std::vector<double>& signed_errors) {
  if (signed_errors.empty()) return {};
  std::vector<double> sizes;
  double sum = 0;
  for (const double error : signed_errors) {
    sizes.push_back(std::abs(error));
    sum += std::abs(error);
  }
  return {.rows = static_cast<int>(sizes.size()),
          .mean = sum / static_cast<double>(sizes.size()),
          .median = Quantile(sizes, 0.5),
          .p90 = Quantile(sizes, 0.9),
          .worst = *std::max_element(sizes.begin(), sizes.end()),
          .bias = Quantile(signed_errors, 0.5)};
}

std::optional<double> RankCorrelation(const std::vector<Pair>& pairs) {
  std::vector<double> predicted, measured;
  for (const Pair& pair : pairs) predicted.push_back(pair.first), measured.push_back(pair.second);
  const std::vector<double> x = RanksOf(predicted), y = RanksOf(measured);
  const double mean = (static_cast<double>(pairs.size()) - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  if (xx <= 0 || yy <= 0) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

double ChoiceRegret(const std::vector<Pair>& pairs) {
  double best = pairs.front().second;
  for (const Pair& pair : pairs) best = std::min(best, pair.second);
  return std::min_element(pairs.begin(), pairs.end())->second / best;
}
}  // namespace shardplan::evidence
