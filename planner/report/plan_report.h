// SPDX-License-Identifier: Apache-2.0
// The ranking of a search as a table and as JSON; where nothing fits, why, and what would.
#pragma once
#include <string>
#include <vector>

#include "planner/report/json.h"
#include "planner/report/subject.h"
#include "planner/report/text.h"
#include "planner/search/hint.h"

namespace shardplan {

std::string PlanReport(const Subject& subject, const SearchResult& result,
                       const SearchOptions& options, const std::vector<Hint>& hints,
                       const Look& look);
Json SearchJson(const Subject& subject, const SearchResult& result, const SearchOptions& options,
                const std::vector<Hint>& hints);
}  // namespace shardplan
