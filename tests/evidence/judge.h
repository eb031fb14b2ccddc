// SPDX-License-Identifier: Apache-2.0
// What the planner says of measured rows, beside what was measured.
//
// The planner is asked in the process as `shardplan check` and `shardplan collectives` ask it: the
// spec's text through the reader, the plan's rules, Evaluate.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "planner/cost/cost.h"
#include "tests/evidence/evidence.h"

namespace shardplan::evidence {

// Of the measured value: positive where the planner says more memory or more time.
struct Comparison {
  double predicted = 0, measured = 0;
  double error = 0;
  // Where the planner gives an interval of the same quantity.
  struct Interval {
    bool covers = false;
    double half_width = 0;  // of the predicted value
  };
  std::optional<Interval> interval;
};

// What is recorded of a judgement, and what statistics are made of.
struct Outcome {
  std::optional<double> memory, time;  // errors
  std::optional<Verdict> verdict;      // none: the planner gives no answer
};

struct Judgement {
  std::string refusal;  // why there is no answer, or why the plan is illegal
  std::optional<Verdict> verdict;
  std::optional<Comparison> memory;  // GiB
  std::optional<Comparison> time;    // in the row's rate
  Bytes capacity, needed;            // of the device, and what no setting of the allocator avoids
  double parameters_off = 0;         // counted less stated

  Outcome Shortened() const;
};

// REQUIRES: row.too_little is empty.
Judgement Judge(const Row& row);

// One judgement a row, on `threads` threads; a row that states too little gets an empty one.
std::vector<Judgement> JudgeAll(const std::vector<Row>& rows, int threads);

// Predicted against measured seconds, or seconds per byte that the bus bandwidths mean. None where
// the source gives neither.
struct PointJudgement {
  std::string refusal;
  std::optional<Comparison> time;  // microseconds, or GB/s of bus bandwidth
};
std::vector<PointJudgement> JudgePoints(const Evidence& evidence);
}  // namespace shardplan::evidence
