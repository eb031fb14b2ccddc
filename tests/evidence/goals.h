// SPDX-License-Identifier: Apache-2.0
// goals.yaml: what the model should reach, beside what it reaches.
#pragma once
#include <string>
#include <vector>

#include "tests/evidence/record.h"

namespace shardplan::evidence {

struct GoalLine {
  std::string what;        // memory, step time, ...
  std::string name, rows;  // of what, how many
  std::string now, goal;   // in words: "median 0.3%, worst 1.2%"
  bool reached = false;
};
Result<std::vector<GoalLine>> ReadGoals(const std::string& path, const Evidence& evidence,
                                        const Judged& judged);
}  // namespace shardplan::evidence
