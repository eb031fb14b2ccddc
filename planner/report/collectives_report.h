// SPDX-License-Identifier: Apache-2.0
// Predicted collectives as a table and as JSON, in the terms of nccl-tests.
#pragma once
#include <string>
#include <vector>

#include "planner/machine/collective.h"
#include "planner/report/json.h"
#include "planner/report/subject.h"
#include "planner/report/text.h"

namespace shardplan {

// One collective and what is predicted of it.
struct CollectiveAnswer {
  Collective op = Collective::kAllReduce;
  Group group;
  Bytes bytes;  // as nccl-tests counts them
  CollectiveTime predicted;
};
// Bytes over time, and the same times what the wires carry per byte; zero where no time passes.
BytesPerSecond AlgorithmBandwidth(const CollectiveAnswer& answer);
BytesPerSecond BusBandwidth(const CollectiveAnswer& answer);

std::string CollectivesReport(const Machine& machine, const std::vector<CollectiveAnswer>& answers,
                              const Look& look);
Json CollectivesJson(const Machine& machine, const std::vector<CollectiveAnswer>& answers);
}  // namespace shardplan
