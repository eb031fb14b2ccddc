// SPDX-License-Identifier: Apache-2.0
// Which flags and keys a target takes: the tables of configs/targets as values.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/export/bundle.h"

namespace shardplan {

struct AcceptedKey {
  std::string type;                  // int, float, bool, str, list, mapping, flag, any
  std::string of;                    // type of a list's elements; empty: any
  bool optional = false;             // null works too
  std::vector<std::string> choices;  // empty: all
  Json fallback;                     // the default; null: none, or not a literal
};
using AcceptedKeys = std::map<std::string, AcceptedKey>;

// The content of one file of configs/targets; nothing where it is none.
std::optional<AcceptedKeys> ParseAcceptedKeys(const std::string& text);

// What is wrong with each setting: an unknown key, a value of another type or beyond the choices.
std::vector<std::string> CheckSettings(const Settings& settings, const AcceptedKeys& accepted);
}  // namespace shardplan
