// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/yaml.h"

#include <yaml-cpp/yaml.h>

namespace shardplan {
namespace {

bool IsFlat(const Json& json) {
  for (const Json& value : json)
    if (value.is_structured()) return false;
  return true;
}

void Emit(const Json& json, YAML::Emitter& out) {
  if (json.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, value] : json.items()) {
      out << YAML::Key << key << YAML::Value;
      Emit(value, out);
    }
    out << YAML::EndMap;
  } else if (json.is_array()) {
    if (IsFlat(json)) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const Json& value : json) Emit(value, out);
    out << YAML::EndSeq;
  } else if (json.is_string()) {
    out << YAML::DoubleQuoted << json.get_ref<const std::string&>();
  } else {
    out << json.dump();  // numbers, booleans and null are written alike in both
  }
}
}  // namespace

std::string YamlOf(const Json& json) {
  YAML::Emitter out;
  Emit(json, out);
  return std::string(out.c_str(), out.size()) + "\n";
}
}  // namespace shardplan
