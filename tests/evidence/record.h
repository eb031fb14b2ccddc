// SPDX-License-Identifier: Apache-2.0
// recorded.csv: what the planner said of every row and point when the record was last taken.
//
// The file holds outcomes, not figures: a group's figures follow from them, and when one gets worse
// the record says which rows moved. Errors are kept to a hundredth of a per cent.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tests/evidence/figures.h"

namespace shardplan::evidence {

// All that the planner says of the evidence.
struct Judged {
  std::vector<Judgement> rows;
  std::vector<PointJudgement> points;
};

// By the ids of rows and points.
using Record = std::map<std::string, Outcome>;

Record RecordOf(const Evidence& evidence, const Judged& judged);
std::string PrintRecord(const Record& record);
Result<Record> ReadRecord(const std::string& path);

// Each figure that is worse than recorded: the group, recorded and now, the rows that moved most.
// Empty: none is.
std::string Worsened(const Evidence& evidence, const Judged& judged, const Record& recorded);
}  // namespace shardplan::evidence
