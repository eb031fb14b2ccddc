// SPDX-License-Identifier: Apache-2.0
// JSON, YAML and TOML as settings: key paths for names, texts for values.
#pragma once
#include <string>

#include "planner/import/draft.h"

namespace shardplan {

// `name` of the text for errors; a fault in it is the draft's.
void AddYaml(const Placed& text, const std::string& name, SettingList& settings, Draft& draft);
void AddToml(const Placed& text, const std::string& name, SettingList& settings, Draft& draft);
}  // namespace shardplan
