// SPDX-License-Identifier: Apache-2.0
// When to stop sampling, and what the samples say.
//
// A pure type: times are given to it. Ranks that feed it the same samples stop together.
#pragma once
#include <vector>

#include "planner/base/quantity.h"

namespace shardplan::probe {

struct StoppingRule {
  double relative_error = 0.02;  // of the median, at 95 %
  Seconds time_limit{2};         // of all samples together
  int min_samples = 5, max_samples = 200;
};

enum class Stop { kGoOn, kPrecise, kTimeLimit, kMaxSamples };
const char* Name(Stop stop);  // "precise", ...

// REQUIRES: samples are not empty, here and below. `share` from 0 to 1; between two samples the
// percentile is linear.
double Percentile(std::vector<double> samples, double share);

// Half the width of the 95 % confidence interval of the median over the median. It follows from
// the order of the samples alone (binomial ranks), whatever their distribution. Infinite for fewer
// than six samples, which bound nothing.
double MedianError(std::vector<double> samples);

// How many lie further than three quartile distances outside the quartiles.
int Outliers(const std::vector<double>& samples);

// Whether `rule` lets sampling end; `spent` is what the samples took in all. Fewer than
// min_samples never end it, the time limit excepted.
Stop Judge(const StoppingRule& rule, const std::vector<double>& samples, Seconds spent);

struct Summary {
  double median = 0, p10 = 0, p90 = 0;
  int samples = 0, outliers = 0;
  Stop stop = Stop::kGoOn;
};
Summary Summarize(const std::vector<double>& samples, Stop stop);
}  // namespace shardplan::probe
