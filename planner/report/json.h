// SPDX-License-Identifier: Apache-2.0
// What all JSON answers share: bytes, seconds and rates per second as numbers, keys in reading
// order.
#pragma once
#include <nlohmann/json.hpp>

#include "planner/report/subject.h"

namespace shardplan {

using Json = nlohmann::ordered_json;

inline constexpr char kSchema[] = "shardplan/v1";

// A count as JSON: without a fraction where it has none and a double counts it exactly.
Json WholeNumber(double value);

// What is trained, and on what.
Json SubjectJson(const Subject& subject);  // the `model` object of plan and check
Json ClusterJson(const Machine& machine);
}  // namespace shardplan
