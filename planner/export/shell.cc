// SPDX-License-Identifier: Apache-2.0
#include "planner/export/shell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace shardplan {
namespace {
bool IsPlain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_-./:=,@%+").find(c) != std::string_view::npos;
}
}  // namespace

std::string Quoted(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), IsPlain)) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string ShellWords(const Json& value) {
  if (value.is_string()) return Quoted(value.get_ref<const std::string&>());
  if (!value.is_array()) return value.dump();
  std::string words;
  for (const Json& item : value) words += (words.empty() ? "" : " ") + ShellWords(item);
  return words;
}

std::string ArrayOf(std::string_view name, const Settings& settings) {
  std::string text = fmt::format("{}=(\n", name);
  for (const auto& [key, value] : settings.list)
    text += value == Json(true) ? fmt::format("  {}\n", key)
                                : fmt::format("  {} {}\n", key, ShellWords(value));
  return text + ")\n";
}
}  // namespace shardplan
