// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/schema.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "planner/base/check.h"
#include "shardplan/v1/options.pb.h"

namespace shardplan {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;

bool IsOpen(const FieldDescriptor& field) { return field.options().GetExtension(v1::open); }

}  // namespace

std::vector<std::string> KeysOf(const Descriptor& message) {
  std::vector<std::string> keys;
  for (int i = 0; i < message.field_count(); ++i)
    if (!IsOpen(*message.field(i))) keys.push_back(message.field(i)->name());
  return keys;
}

const FieldDescriptor* FieldOf(const Descriptor& message, const std::string& key) {
  const FieldDescriptor* field = message.FindFieldByName(key);
  return field && !IsOpen(*field) ? field : nullptr;
}

const FieldDescriptor* OpenField(const Descriptor& message) {
  for (int i = 0; i < message.field_count(); ++i)
    if (IsOpen(*message.field(i))) return message.field(i);
  return nullptr;
}

const FieldDescriptor* ShorthandField(const Descriptor& message) {
  const std::string& name = message.options().GetExtension(v1::shorthand);
  if (name.empty()) return nullptr;
  const FieldDescriptor* field = message.FindFieldByName(name);
  SHARDPLAN_CHECK(field != nullptr);
  return field;
}

bool IsStruct(const Descriptor& message) { return message.full_name() == "google.protobuf.Struct"; }

bool TakesOneValue(const FieldDescriptor& field) {
  return field.options().GetExtension(v1::one_or_many);
}

bool TakesNumberAsText(const FieldDescriptor& field) {
  return field.options().GetExtension(v1::number_too);
}

bool TakesNull(const FieldDescriptor& field) { return field.options().GetExtension(v1::nullable); }

Dimension DimensionOf(const FieldDescriptor& field) {
  switch (field.options().GetExtension(v1::unit)) {
    case v1::UNIT_BYTES:
      return Dimension::kBytes;
    case v1::UNIT_BYTES_PER_SECOND:
      return Dimension::kBytesPerSecond;
    case v1::UNIT_FLOPS_PER_SECOND:
      return Dimension::kFlopsPerSecond;
    case v1::UNIT_SECONDS:
      return Dimension::kSeconds;
    case v1::UNIT_WATTS:
      return Dimension::kWatts;
    default:
      return Dimension::kNone;
  }
}

FieldRange RangeOf(const FieldDescriptor& field) {
  const google::protobuf::FieldOptions& options = field.options();
  FieldRange range;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      range.most = std::numeric_limits<std::int32_t>::max();
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      range.most = 9007199254740992.0;
      break;
    default:
      range.most = std::numeric_limits<double>::max();
  }
  if (options.HasExtension(v1::least)) range.least = options.GetExtension(v1::least);
  if (options.HasExtension(v1::most)) range.most = options.GetExtension(v1::most);
  if (options.HasExtension(v1::above)) {
    range.least = options.GetExtension(v1::above);
    range.open = true;
  }
  return range;
}

std::string EnumText(const EnumValueDescriptor& value) {
  const std::string& text = value.options().GetExtension(v1::text);
  if (!text.empty()) return text;
  constexpr std::string_view kUnspecified = "UNSPECIFIED";
  const std::string& zero = value.type()->FindValueByNumber(0)->name();
  SHARDPLAN_CHECK(zero.size() >= kUnspecified.size() &&
                  value.name().size() > zero.size() - kUnspecified.size());
  std::string name = value.name().substr(zero.size() - kUnspecified.size());
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  return name;
}

std::vector<std::string> EnumTexts(const EnumDescriptor& type) {
  std::vector<std::string> texts;
  for (int i = 0; i < type.value_count(); ++i)
    if (type.value(i)->number() != 0) texts.push_back(EnumText(*type.value(i)));
  return texts;
}
}  // namespace shardplan
