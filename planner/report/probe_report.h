// SPDX-License-Identifier: Apache-2.0
// Records of probes (contract.md section 5) as tables; collectives in the columns of nccl-tests.
#pragma once
#include <string>
#include <vector>

#include "planner/report/json.h"
#include "planner/report/text.h"

namespace shardplan {
std::string ProbeReport(const std::vector<Json>& records, const Look& look);
}  // namespace shardplan
