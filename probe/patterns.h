// SPDX-License-Identifier: Apache-2.0
// The patterns of memory access that tell a GPU's levels of memory apart, by name.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace shardplan::probe {

struct AccessPattern {
  std::string_view name, what;
  bool has_stride;  // and so is worth a sweep over strides
};
const std::vector<AccessPattern>& AccessPatterns();
const AccessPattern* FindPattern(std::string_view name);
std::vector<std::string> PatternNames();
}  // namespace shardplan::probe
