// SPDX-License-Identifier: Apache-2.0
// Speed of the search over specs, and signatures of what it found.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "planner/report/json.h"
#include "planner/report/text.h"
#include "planner/search/search.h"

namespace shardplan {

struct BenchRow {
  std::string spec;
  int gpus = 0;
  SearchResult result;
};

// FNV-1a (64 bits) of the ranked plans: the key and the exact step time of each, in order.
std::uint64_t Signature(const std::vector<Ranked>& plans);

std::string BenchReport(const std::vector<BenchRow>& rows, const Look& look);
Json BenchJson(const std::vector<BenchRow>& rows);
}  // namespace shardplan
