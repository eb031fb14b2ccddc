// SPDX-License-Identifier: Apache-2.0
#include "planner/import/documents.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "planner/spec/yaml_tree.h"

namespace shardplan {
namespace {

// Adds a scalar, or a list of scalars.
void Add(std::string name, std::vector<std::string> values, Spot spot, SettingList& settings) {
  std::string shown = name + ":";
  for (const std::string& value : values) shown += " " + value;
  settings.Add({std::move(name), std::move(values), spot, std::move(shown)});
}

void AddNode(const YamlNode& node, const std::string& path, const Placed& text,
             SettingList& settings) {
  const Spot spot = text.At(std::min(node.place.offset, text.size()));
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return;  // as if it were not there
    case YamlNode::Kind::kScalar:
      return Add(path, {node.text}, spot, settings);
    case YamlNode::Kind::kMapping:
      for (const YamlMember& member : node.members)
        AddNode(member.value, path.empty() ? member.key : path + "." + member.key, text, settings);
      return;
    case YamlNode::Kind::kList:
      break;
  }
  std::vector<std::string> values;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const YamlNode& item = node.items[i];
    if (item.kind == YamlNode::Kind::kScalar)
      values.push_back(item.text);
    else
      AddNode(item, fmt::format("{}[{}]", path, i), text, settings);
  }
  if (!values.empty()) Add(path, std::move(values), spot, settings);
}

std::optional<std::string> ScalarOf(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  return std::nullopt;
}

// An item of a list; a list in it as its values joined by commas.
std::optional<std::string> ItemOf(const toml::node& node) {
  const auto* list = node.as_array();
  if (list == nullptr) return ScalarOf(node);
  std::vector<std::string> values;
  for (const toml::node& item : *list) values.push_back(ScalarOf(item).value_or(""));
  return fmt::format("{}", fmt::join(values, ","));
}

void AddNode(const toml::node& node, const std::string& path, int file, SettingList& settings) {
  const Spot spot{file, static_cast<int>(node.source().begin.line)};
  if (const auto* table = node.as_table()) {
    for (const auto& [key, value] : *table)
      AddNode(value, path.empty() ? std::string(key.str()) : path + "." + std::string(key.str()),
              file, settings);
  } else if (const auto* array = node.as_array()) {
    std::vector<std::string> values;
    for (const toml::node& item : *array)
      if (auto value = ItemOf(item)) values.push_back(std::move(*value));
    if (!values.empty()) Add(path, std::move(values), spot, settings);
  } else if (auto value = ScalarOf(node)) {
    Add(path, {std::move(*value)}, spot, settings);
  }
}
}  // namespace

void AddYaml(const Placed& text, const std::string& name, SettingList& settings, Draft& draft) {
  const Result<YamlNode> tree = ParseYaml(MakeSource(name, text.text()));
  if (!tree) return draft.Fail(tree.error());
  AddNode(*tree, "", text, settings);
}

void AddToml(const Placed& text, const std::string& name, SettingList& settings, Draft& draft) {
  try {
    AddNode(toml::parse(std::string_view(text.text()), name), "", text.spot().file, settings);
  } catch (const toml::parse_error& error) {
    const Spot spot{text.spot().file, static_cast<int>(error.source().begin.line)};
    draft.Fail(spot, "", error.description(), "expected TOML");
  }
}
}  // namespace shardplan
