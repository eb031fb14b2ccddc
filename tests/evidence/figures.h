// SPDX-License-Identifier: Apache-2.0
// How far the planner is off, group by group: what the public error table is made of.
//
// Computed from outcomes, so that the recorded ones (record.h) give the same figures as fresh ones.
#pragma once
#include <string>
#include <vector>

#include "tests/evidence/judge.h"
#include "tests/evidence/statistics.h"

namespace shardplan::evidence {

// Verdicts against what happened, over the rows with a legal plan.
struct FitCounts {
  int ran = 0, false_oom = 0;      // of rows that ran, those called oom
  int oom = 0, false_fit = 0;      // of rows that ran out of memory, those called fits
  int roomy = 0, roomy_tight = 0;  // of rows measured below 80 % of the device, those called tight
};

struct GroupFigures {
  std::string name;
  int rows = 0, answered = 0, too_little = 0;
  Errors memory, time;
  FitCounts fit;
};

// `members` are indices of rows; `judgements` bring what no outcome has, the devices' sizes.
GroupFigures FiguresOf(const std::string& name, const std::vector<std::size_t>& members,
                       const std::vector<Row>& rows, const std::vector<Judgement>& judgements,
                       const std::vector<Outcome>& outcomes);
// One of each of the evidence's groups.
std::vector<GroupFigures> FiguresByGroup(const Evidence& evidence,
                                         const std::vector<Judgement>& judgements,
                                         const std::vector<Outcome>& outcomes);

std::vector<std::size_t> MembersOf(const std::string& group, const std::vector<Row>& rows);
std::vector<std::size_t> AllMembers(const std::vector<Row>& rows);

// How often the planner's interval holds the measured value.
struct Coverage {
  int rows = 0, covered = 0;
  double half_width = 0;    // the median, of the predicted value
  double median_error = 0;  // of the same rows
  double HalfWidths() const { return median_error > 0 ? half_width / median_error : 0; }
};
// Those without an interval do not count.
Coverage CoverageOf(const std::vector<const Comparison*>& comparisons);

// Rank correlation of the times of one model's plans on one number of GPUs, by sets of four plans
// or more.
struct PlanSet {
  std::string group;
  int plans = 0;
  double correlation = 0;
};
std::vector<PlanSet> PlanSets(const std::vector<Row>& rows,
                              const std::vector<Judgement>& judgements);
// Weighted with the number of plans; 0 of no sets.
double MeanCorrelation(const std::vector<PlanSet>& sets);

// The planner's choice among the measured plans of each job of three plans or more.
struct Choices {
  int jobs = 0, best_picked = 0;
  double mean_regret = 0, worst_regret = 0;
};
Choices ChoicesOf(const std::string& group, const std::vector<Row>& rows,
                  const std::vector<Judgement>& judgements);

// Points by size ("from 64 MiB", "1 to 64 MiB", "below 1 MiB") and by collective ("all_reduce").
std::vector<std::string> PointSetNames();
bool InPointSet(const Point& point, const std::string& name);
struct PointSet {
  std::string name;
  Errors time;
};
// Those with any points.
std::vector<PointSet> PointSets(const std::vector<Point>& points,
                                const std::vector<std::optional<double>>& errors);
}  // namespace shardplan::evidence
