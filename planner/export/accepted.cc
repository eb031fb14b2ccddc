// SPDX-License-Identifier: Apache-2.0
#include "planner/export/accepted.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/base/nearest.h"

namespace shardplan {
namespace {

bool IsOf(const Json& value, const std::string& type) {
  if (type == "flag" || type == "bool") return value.is_boolean();
  if (type == "int") return value.is_number_integer();
  if (type == "float") return value.is_number();
  if (type == "str") return value.is_string();
  if (type == "list") return value.is_array();
  if (type == "mapping") return value.is_object();
  return true;
}

bool IsChoice(const Json& value, const std::vector<std::string>& choices) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  return choices.empty() || std::find(choices.begin(), choices.end(), text) != choices.end();
}

// What is wrong with a value; empty: nothing.
std::string Wrong(const Json& value, const AcceptedKey& key) {
  if (value.is_null()) return key.optional ? "" : "is null";
  if (key.type == "flag" && value != Json(true)) return "is a flag without a value";
  if (!IsOf(value, key.type)) return fmt::format("is {}, not {}", value.dump(), key.type);
  const Json items = value.is_array() ? value : Json::array({value});
  for (const Json& item : items) {
    if (value.is_array() && !key.of.empty() && !IsOf(item, key.of))
      return fmt::format("holds {}, not {}", item.dump(), key.of);
    if (key.type != "flag" && !IsChoice(item, key.choices))
      return fmt::format("is {}, not one of {}", item.dump(), fmt::join(key.choices, ", "));
  }
  return {};
}
}  // namespace

std::optional<AcceptedKeys> ParseAcceptedKeys(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.contains("keys")) return std::nullopt;
  AcceptedKeys keys;
  for (const auto& [name, entry] : json["keys"].items()) {
    AcceptedKey key{.type = entry.value("type", "any"),
                    .of = entry.value("of", ""),
                    .optional = entry.value("optional", false),
                    .choices = {},
                    .fallback = entry.value("default", Json())};
    for (const Json& choice : entry.value("choices", Json::array()))
      key.choices.push_back(choice.is_string() ? choice.get<std::string>() : choice.dump());
    keys.emplace(name, std::move(key));
  }
  return keys;
}

std::vector<std::string> CheckSettings(const Settings& settings, const AcceptedKeys& accepted) {
  std::vector<std::string> problems, names;
  for (const auto& [name, key] : accepted) names.push_back(name);
  for (const auto& [key, value] : settings.list) {
    const auto at = accepted.find(key);
    const std::string wrong =
        at == accepted.end() ? "is unknown; " + DidYouMean(key, names) : Wrong(value, at->second);
    if (!wrong.empty()) problems.push_back(fmt::format("{}: {} {}", settings.table, key, wrong));
  }
  return problems;
}
}  // namespace shardplan
