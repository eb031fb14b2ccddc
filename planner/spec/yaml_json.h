// SPDX-License-Identifier: Apache-2.0
// A tree of the YAML reader as JSON.
#pragma once
#include "planner/report/json.h"
#include "planner/spec/yaml_tree.h"

namespace shardplan {

// Scalars without quotes by their meaning: numbers, true, false, null or nothing; else they are
// text.
Json JsonOf(const YamlNode& node);
}  // namespace shardplan
