// SPDX-License-Identifier: Apache-2.0
// JSON printed as the YAML that people write: plain words, block text.
#pragma once
#include <string>

#include "planner/export/bundle.h"

namespace shardplan {
// GUARANTEES: reading the result as YAML gives `json` back, key order kept.
std::string YamlText(const Json& json);
}  // namespace shardplan
