// SPDX-License-Identifier: Apache-2.0
// The public error table: docs/accuracy.md and the summary in README.md, as text.
//
// Deterministic: groups by name, figures to a tenth of a per cent, no clock and no machine.
#pragma once
#include <string>
#include <vector>

#include "tests/evidence/goals.h"
#include "tests/evidence/reasons.h"
#include "tests/evidence/record.h"

namespace shardplan::evidence {

// The whole of docs/accuracy.md.
std::string AccuracyPage(const Evidence& evidence, const Judged& judged,
                         const std::vector<GoalLine>& goals, const Reasons& reasons);

// Its last part: the rows that miss most, group by group, and those that contradict themselves.
std::string WorstRows(const Evidence& evidence, const Judged& judged, const Reasons& reasons);

// The table between kSummaryBegin and kSummaryEnd in README.md.
std::string Summary(const std::vector<GoalLine>& goals);
inline constexpr char kSummaryBegin[] = "<!-- accuracy: written by accuracy_update -->\n";
inline constexpr char kSummaryEnd[] = "<!-- end of accuracy -->\n";
// README.md with the table in its place; an error where the two lines are not there.
Result<std::string> WithSummary(const std::string& readme, const std::string& summary);
}  // namespace shardplan::evidence
