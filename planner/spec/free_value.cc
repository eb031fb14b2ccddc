// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/free_value.h"

#include <cmath>

namespace shardplan {
namespace {

using google::protobuf::Value;
using nlohmann::json;

json JsonOf(const Value& value) {
  switch (value.kind_case()) {
    case Value::kNumberValue: {
      const double number = value.number_value();
      constexpr double kExact = 9007199254740992.0;  // 2^53
      if (std::trunc(number) == number && std::abs(number) <= kExact)
        return static_cast<std::int64_t>(number);
      return number;
    }
    case Value::kStringValue:
      return value.string_value();
    case Value::kBoolValue:
      return value.bool_value();
    case Value::kStructValue:
      return shardplan::JsonOf(value.struct_value());
    case Value::kListValue: {
      json list = json::array();
      for (const Value& item : value.list_value().values()) list.push_back(JsonOf(item));
      return list;
    }
    default:
      return nullptr;
  }
}

Value ValueOf(const json& from) {
  Value value;
  if (from.is_object()) {
    *value.mutable_struct_value() = StructOf(from);
  } else if (from.is_array()) {
    value.mutable_list_value();
    for (const json& item : from) *value.mutable_list_value()->add_values() = ValueOf(item);
  } else if (from.is_number()) {
    value.set_number_value(from.get<double>());
  } else if (from.is_string()) {
    value.set_string_value(from.get<std::string>());
  } else if (from.is_boolean()) {
    value.set_bool_value(from.get<bool>());
  } else {
    value.set_null_value(google::protobuf::NULL_VALUE);
  }
  return value;
}

}  // namespace

json JsonOf(const google::protobuf::Struct& keys) {
  json object = json::object();
  for (const auto& [key, value] : keys.fields()) object[key] = JsonOf(value);
  return object;
}

google::protobuf::Struct StructOf(const json& object) {
  google::protobuf::Struct keys;
  for (const auto& [key, value] : object.items()) (*keys.mutable_fields())[key] = ValueOf(value);
  return keys;
}
}  // namespace shardplan
