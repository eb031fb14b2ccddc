// SPDX-License-Identifier: Apache-2.0
#include "planner/export/toml_text.h"

#include <fmt/format.h>

#include "planner/base/check.h"

namespace shardplan {
namespace {

// TOML's strings, numbers, booleans and arrays are JSON's; lists of lists take a line each.
std::string Value(const Json& value) {
  if (!value.is_array() || value.empty() || !value.front().is_array()) return value.dump();
  std::string text = "[\n";
  for (const Json& item : value) text += "  " + item.dump() + ",\n";
  return text + "]";
}
}  // namespace

std::string TomlText(const Settings& settings) {
  std::vector<std::pair<std::string, std::string>> tables;
  for (const auto& [key, value] : settings.list) {
    const std::size_t dot = key.rfind('.');
    SHARDPLAN_CHECK(dot != std::string::npos);
    const std::string name = key.substr(0, dot);
    auto table = tables.begin();
    while (table != tables.end() && table->first != name) ++table;
    if (table == tables.end()) table = tables.insert(table, {name, ""});
    table->second += fmt::format("{} = {}\n", key.substr(dot + 1), Value(value));
  }
  std::string text;
  for (const auto& [name, lines] : tables)
    text += fmt::format("{}[{}]\n{}", text.empty() ? "" : "\n", name, lines);
  return text;
}
}  // namespace shardplan
