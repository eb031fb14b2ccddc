// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/scalar.h"

#include <fmt/format.h>

#include "planner/base/nearest.h"
#include "planner/spec/quantity_text.h"
#include "planner/spec/schema.h"

namespace shardplan {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using Kind = YamlNode::Kind;

std::string RangeText(const FieldRange& range, bool whole) {
  const std::string noun = whole ? "a whole number" : "a number";
  const bool bounded = range.most < (whole ? 2147483647.0 : 1e300);
  if (range.open)
    return noun + " above " + NumberText(range.least) +
           (bounded ? ", up to " + NumberText(range.most) : "");
  return noun + " from " + NumberText(range.least) +
         (bounded ? " to " + NumberText(range.most) : " on");
}

}  // namespace

std::string KindText(const YamlNode& node) {
  switch (node.kind) {
    case Kind::kNull:
      return "no value";
    case Kind::kList:
      return "a list";
    case Kind::kMapping:
      return "a mapping";
    case Kind::kScalar:
      break;
  }
  return node.text.empty() ? "an empty text" : Shown(node.text);
}

Result<std::int64_t> WholeOf(const FieldDescriptor& field, const YamlNode& node,
                             const std::string& path) {
  const FieldRange range = RangeOf(field);
  const std::string hint = "expected " + RangeText(range, true);
  const auto whole = node.kind == Kind::kScalar ? ParseWhole(node.text) : std::nullopt;
  if (!whole)
    return InvalidAt(node.place, path, fmt::format("{} is not a whole number", KindText(node)),
                     hint);
  const auto value = static_cast<double>(*whole);
  if (value < range.least || value > range.most)
    return InvalidAt(node.place, path, fmt::format("{} is out of range", KindText(node)), hint);
  return *whole;
}

Result<double> NumberOf(const FieldDescriptor& field, const YamlNode& node,
                        const std::string& path) {
  const FieldRange range = RangeOf(field);
  const Dimension dimension = DimensionOf(field);
  const bool plain = dimension == Dimension::kNone;
  const std::string hint = "expected " + (plain ? RangeText(range, false) : Expectation(dimension));
  const std::string shown = KindText(node);
  if (node.kind != Kind::kScalar)
    return InvalidAt(node.place, path, fmt::format("found {}", shown), hint);
  const ParsedNumber number = ParseNumber(node.text, dimension);
  switch (number.fault) {
    case NumberFault::kUnknownUnit:
      return InvalidAt(node.place, path, fmt::format("unknown unit {}", Shown(number.unit)),
                       DidYouMeanUnit(number.unit, dimension) + hint);
    case NumberFault::kNotANumber:
      return InvalidAt(node.place, path, fmt::format("{} is not a number", shown), hint);
    case NumberFault::kNotFinite:
      return InvalidAt(node.place, path, fmt::format("{} is too large", shown), hint);
    case NumberFault::kNone:
      break;
  }
  if (plain && !number.unit.empty())
    return InvalidAt(node.place, path, fmt::format("{} is not a number", shown), hint);
  const bool below = range.open ? number.value <= range.least : number.value < range.least;
  if (below || number.value > range.most)
    return InvalidAt(node.place, path, fmt::format("{} is out of range", shown),
                     plain ? hint : fmt::format("{} ({})", hint, RangeText(range, false)));
  return number.value;
}

Result<bool> BoolOf(const YamlNode& node, const std::string& path) {
  if (node.kind == Kind::kScalar && !node.quoted) {
    if (node.text == "true" || node.text == "True") return true;
    if (node.text == "false" || node.text == "False") return false;
  }
  return InvalidAt(node.place, path, fmt::format("{} is neither true nor false", KindText(node)),
                   "expected true or false");
}

Result<const EnumValueDescriptor*> EnumOf(const FieldDescriptor& field, const YamlNode& node,
                                          const std::string& path) {
  const google::protobuf::EnumDescriptor& type = *field.enum_type();
  if (node.kind != Kind::kScalar)
    return InvalidAt(node.place, path, fmt::format("found {}", KindText(node)),
                     Suggest("", EnumTexts(type), "it takes"));
  for (int i = 0; i < type.value_count(); ++i) {
    const EnumValueDescriptor* value = type.value(i);
    if (value->number() != 0 && node.text == EnumText(*value)) return value;
  }
  return InvalidAt(node.place, path, fmt::format("unknown value {}", KindText(node)),
                   Suggest(node.text, EnumTexts(type), "it takes"));
}

Result<std::string> TextOf(const FieldDescriptor& field, const YamlNode& node,
                           const std::string& path) {
  if (node.kind != Kind::kScalar || node.text.empty())
    return InvalidAt(node.place, path, fmt::format("found {}", KindText(node)), "expected a text");
  if (!node.quoted) {
    const ParsedNumber number = ParseNumber(node.text, Dimension::kNone);
    const bool is_number = number.fault == NumberFault::kNone && number.unit.empty();
    const bool is_bool = node.text == "true" || node.text == "false";
    if (is_bool || (is_number && !TakesNumberAsText(field)))
      return InvalidAt(
          node.place, path,
          fmt::format("{} is {}", KindText(node), is_bool ? "true or false" : "a number"),
          "expected a text; in quotes where it is meant as one");
  }
  return node.text;
}

Result<google::protobuf::Value> FreeValueOf(const YamlNode& node, const std::string& path) {
  google::protobuf::Value value;
  const ParsedNumber number = ParseNumber(node.text, Dimension::kNone);
  const bool plain = !node.quoted;
  if (plain && number.fault == NumberFault::kNotFinite)
    return InvalidAt(node.place, path, fmt::format("{} is too large", KindText(node)),
                     "expected a finite number");
  if (plain && (node.text == "true" || node.text == "false"))
    value.set_bool_value(node.text == "true");
  else if (plain && number.fault == NumberFault::kNone && number.unit.empty())
    value.set_number_value(number.value);
  else
    value.set_string_value(node.text);
  return value;
}
}  // namespace shardplan
