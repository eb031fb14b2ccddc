// SPDX-License-Identifier: Apache-2.0
// What a message's fields look like in YAML: the options of proto/shardplan/v1/options.proto, read
// once for reader and writer.
#pragma once
#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "planner/spec/quantity_text.h"

namespace shardplan {

struct FieldRange {
  double least = 0, most = 0;
  bool open = false;  // `least` itself is outside
};

// Keys of a mapping that fills `message`, but those an open field takes.
std::vector<std::string> KeysOf(const google::protobuf::Descriptor& message);
// The field that a key fills; null: none, or the open one.
const google::protobuf::FieldDescriptor* FieldOf(const google::protobuf::Descriptor& message,
                                                 const std::string& key);
// The Struct or map field that takes all other keys; null: none.
const google::protobuf::FieldDescriptor* OpenField(const google::protobuf::Descriptor& message);
// The field that takes a value other than a mapping; null: none.
const google::protobuf::FieldDescriptor* ShorthandField(
    const google::protobuf::Descriptor& message);

bool IsStruct(const google::protobuf::Descriptor& message);
bool TakesOneValue(const google::protobuf::FieldDescriptor& field);
bool TakesNumberAsText(const google::protobuf::FieldDescriptor& field);
bool TakesNull(const google::protobuf::FieldDescriptor& field);
Dimension DimensionOf(const google::protobuf::FieldDescriptor& field);
FieldRange RangeOf(const google::protobuf::FieldDescriptor& field);

// "bf16-mixed" for PRECISION_BF16_MIXED.
std::string EnumText(const google::protobuf::EnumValueDescriptor& value);
// Texts of all values but the unspecified one.
std::vector<std::string> EnumTexts(const google::protobuf::EnumDescriptor& type);
}  // namespace shardplan
