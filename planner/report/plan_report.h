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

// What is said besides, where no plan fits.
struct NothingFits {
  std::vector<Hint> hints;
  std::vector<Reason> reasons;  // why the plan with the first of all wishes is illegal
};

std::string PlanReport(const Subject& subject, const SearchResult& result,
                       const SearchOptions& options, const NothingFits& instead, const Look& look);
Json SearchJson(const Subject& subject, const SearchResult& result, const SearchOptions& options,
                const NothingFits& instead);
}  // namespace shardplan
