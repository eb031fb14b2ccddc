// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/yaml_json.h"

#include <charconv>

namespace shardplan {
namespace {

Json ScalarOf(const YamlNode& node) {
  if (node.quoted) return node.text;
  if (node.text == "true" || node.text == "false") return node.text == "true";
  if (node.text == "null" || node.text == "~" || node.text.empty()) return nullptr;
  const char *begin = node.text.data(), *end = begin + node.text.size();
  std::int64_t whole = 0;
  if (const auto read = std::from_chars(begin, end, whole);
      read.ec == std::errc{} && read.ptr == end)
    return whole;
  double number = 0;
  if (const auto read = std::from_chars(begin, end, number);
      read.ec == std::errc{} && read.ptr == end)
    return number;
  return node.text;
}
}  // namespace

Json JsonOf(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return nullptr;
    case YamlNode::Kind::kScalar:
      return ScalarOf(node);
    case YamlNode::Kind::kList: {
      Json list = Json::array();
      for (const YamlNode& item : node.items) list.push_back(JsonOf(item));
      return list;
    }
    case YamlNode::Kind::kMapping:
      break;
  }
  Json object = Json::object();
  for (const YamlMember& member : node.members) object[member.key] = JsonOf(member.value);
  return object;
}
}  // namespace shardplan
