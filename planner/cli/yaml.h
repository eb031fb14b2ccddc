// SPDX-License-Identifier: Apache-2.0
// JSON printed as YAML: the same keys in the same order, the same values.
#pragma once
#include <string>

#include "planner/report/json.h"

namespace shardplan {

// GUARANTEES: reading the result as YAML 1.2 gives `json` back.
std::string YamlOf(const Json& json);
}  // namespace shardplan
