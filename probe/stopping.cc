// SPDX-License-Identifier: Apache-2.0
#include "probe/stopping.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/base/check.h"

namespace shardplan::probe {
namespace {

// Of sorted samples.
double At(const std::vector<double>& sorted, double share) {
  const double place = share * (static_cast<double>(sorted.size()) - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}
}  // namespace

const char* Name(Stop stop) {
  switch (stop) {
    case Stop::kGoOn:
      return "went_on";
    case Stop::kPrecise:
      return "precise";
    case Stop::kTimeLimit:
      return "time_limit";
    case Stop::kMaxSamples:
      return "max_samples";
  }
  return "";
}

double Percentile(std::vector<double> samples, double share) {
  SHARDPLAN_CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  return At(samples, share);
}

double MedianError(std::vector<double> samples) {
  // The median lies between the r-th least and the r-th greatest with a chance of 95 % where
  // r = (n - 1.96 sqrt(n)) / 2; the least r is 1, from six samples on.
  constexpr double kQuantile = 1.959963984540054;
  const auto count = static_cast<double>(samples.size());
  const auto rank =
      static_cast<std::ptrdiff_t>(std::floor((count - kQuantile * std::sqrt(count)) / 2));
  if (samples.size() < 6) return std::numeric_limits<double>::infinity();
  std::sort(samples.begin(), samples.end());
  const auto low = static_cast<std::size_t>(std::max<std::ptrdiff_t>(rank, 1) - 1);
  const double median = At(samples, 0.5);
  const double half = (samples[samples.size() - 1 - low] - samples[low]) / 2;
  return median > 0 ? half / median : half > 0 ? std::numeric_limits<double>::infinity() : 0;
}

int Outliers(const std::vector<double>& samples) {
  std::vector<double> sorted = samples;
  SHARDPLAN_CHECK(!sorted.empty());
  std::sort(sorted.begin(), sorted.end());
  const double low = At(sorted, 0.25), high = At(sorted, 0.75), fence = 3 * (high - low);
  return static_cast<int>(std::count_if(
      sorted.begin(), sorted.end(), [&](double x) { return x < low - fence || x > high + fence; }));
}

Stop Judge(const StoppingRule& rule, const std::vector<double>& samples, Seconds spent) {
  const auto count = static_cast<int>(samples.size());
  if (count == 0) return Stop::kGoOn;
  if (spent >= rule.time_limit) return Stop::kTimeLimit;
  if (count >= rule.max_samples) return Stop::kMaxSamples;
  if (count < rule.min_samples || MedianError(samples) > rule.relative_error) return Stop::kGoOn;
  return Stop::kPrecise;
}

Summary Summarize(const std::vector<double>& samples, Stop stop) {
  return {Percentile(samples, 0.5),         Percentile(samples, 0.1), Percentile(samples, 0.9),
          static_cast<int>(samples.size()), Outliers(samples),        stop};
}
}  // namespace shardplan::probe
