// SPDX-License-Identifier: Apache-2.0
// Settings with dotted keys as a TOML file.
#pragma once
#include <string>

#include "planner/export/bundle.h"

namespace shardplan {
// A table for each prefix, in order of first appearance. REQUIRES: every key has a dot.
std::string TomlText(const Settings& settings);
}  // namespace shardplan
