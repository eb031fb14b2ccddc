// SPDX-License-Identifier: Apache-2.0
#include "planner/export/yaml_text.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "planner/base/text.h"

namespace shardplan {
namespace {

// A word that no reader of YAML 1.1 or 1.2 takes for anything but text.
bool IsPlainWord(const std::string& text) {
  static const std::set<std::string> meant{"true", "false", "yes", "no", "on",  "off",
                                           "null", "~",     "y",   "n",  "nan", "inf"};
  if (text.empty() || meant.count(Lower(text)) > 0) return false;
  if (std::isalpha(static_cast<unsigned char>(text.front())) == 0 && text.front() != '/')
    return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

// Text of several lines, each of which ends in a newline and holds nothing that a block cannot.
bool IsBlock(const std::string& text) {
  return text.find('\n') != std::string::npos && text.back() == '\n' && text.front() != ' ' &&
         text.front() != '\n' && (text.size() < 2 || text[text.size() - 2] != '\n') &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c == '\n' || c >= ' '; });
}

std::string Scalar(const Json& value, const std::string& indent) {
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  if (IsPlainWord(text)) return text;
  if (!IsBlock(text)) return value.dump();
  std::string block = "|\n";
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    if (end > start) block += indent + "  " + text.substr(start, end - start);
    block += "\n";
    start = end + 1;
  }
  block.pop_back();
  return block;
}

void Print(const Json& json, const std::string& indent, std::string& out);

// What follows "key:" or "-".
void PrintValue(const Json& value, const std::string& indent, bool in_list, std::string& out) {
  if (!value.is_structured()) {
    out += " " + Scalar(value, indent) + "\n";
  } else if (value.empty()) {
    out += value.is_object() ? " {}\n" : " []\n";
  } else if (in_list && value.is_object()) {
    std::string text;
    Print(value, indent + "  ", text);
    out += " " + text.substr(indent.size() + 2);
  } else {
    out += "\n";
    Print(value, indent + "  ", out);
  }
}

void Print(const Json& json, const std::string& indent, std::string& out) {
  if (json.is_array()) {
    for (const Json& item : json) {
      out += indent + "-";
      PrintValue(item, indent, true, out);
    }
    return;
  }
  for (const auto& [key, value] : json.items()) {
    out += indent + (IsPlainWord(key) ? key : Json(key).dump()) + ":";
    PrintValue(value, indent, false, out);
  }
}
}  // namespace

std::string YamlText(const Json& json) {
  std::string out;
  Print(json, "", out);
  return out;
}
}  // namespace shardplan
