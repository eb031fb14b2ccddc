// SPDX-License-Identifier: Apache-2.0
// One scalar of a YAML tree as the value of one protobuf field, range and unit checked.
#pragma once
#include <google/protobuf/descriptor.h>
#include <google/protobuf/struct.pb.h>

#include <cstdint>
#include <string>

#include "planner/spec/yaml_tree.h"

namespace shardplan {

Result<std::int64_t> WholeOf(const google::protobuf::FieldDescriptor& field, const YamlNode& node,
                             const std::string& path);
Result<double> NumberOf(const google::protobuf::FieldDescriptor& field, const YamlNode& node,
                        const std::string& path);
Result<bool> BoolOf(const YamlNode& node, const std::string& path);
Result<const google::protobuf::EnumValueDescriptor*> EnumOf(
    const google::protobuf::FieldDescriptor& field, const YamlNode& node, const std::string& path);
// Never empty. `true` or a number is no text unless quoted, or the field takes numbers as written.
Result<std::string> TextOf(const google::protobuf::FieldDescriptor& field, const YamlNode& node,
                           const std::string& path);
// A value of an open mapping: quoted text stays text, the rest is what JSON would say.
Result<google::protobuf::Value> FreeValueOf(const YamlNode& node, const std::string& path);

// "a list", "no value", or the text of a scalar.
std::string KindText(const YamlNode& node);
}  // namespace shardplan
