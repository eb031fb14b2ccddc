// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/writer.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/struct.pb.h>

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "planner/base/check.h"
#include "planner/spec/free_value.h"
#include "planner/spec/schema.h"

namespace shardplan {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// `index` < 0: of a field that is not repeated.
std::string ScalarText(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& r = *message.GetReflection();
  const bool one = index < 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return fmt::format(
          "{}", one ? r.GetInt32(message, &field) : r.GetRepeatedInt32(message, &field, index));
    case FieldDescriptor::CPPTYPE_INT64:
      return fmt::format(
          "{}", one ? r.GetInt64(message, &field) : r.GetRepeatedInt64(message, &field, index));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return NumberText(one ? r.GetDouble(message, &field)
                            : r.GetRepeatedDouble(message, &field, index));
    case FieldDescriptor::CPPTYPE_BOOL:
      return (one ? r.GetBool(message, &field) : r.GetRepeatedBool(message, &field, index))
                 ? "true"
                 : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return Quoted(EnumText(
          *(one ? r.GetEnum(message, &field) : r.GetRepeatedEnum(message, &field, index))));
    case FieldDescriptor::CPPTYPE_STRING:
      return Quoted(one ? r.GetString(message, &field)
                        : r.GetRepeatedString(message, &field, index));
    default:
      break;
  }
  SHARDPLAN_CHECK(!"a type that no schema uses");
  return "";
}

class Printer {
 public:
  // Members of a mapping; each begins with a line break and `indent` blanks.
  void Print(const Message& message, int indent) {
    const Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field == OpenField(*message.GetDescriptor())) {
        PrintOpen(message, *field, indent);
      } else if (field->is_map()) {
        Key(field->name(), indent);
        PrintEntries(message, *field, indent + 2);
      } else if (field->is_repeated()) {
        Key(field->name(), indent);
        PrintList(message, *field, indent);
      } else {
        Key(field->name(), indent);
        PrintValue(message, *field, -1, indent + 2);
      }
    }
  }

  std::string Take() { return std::move(text_); }

 private:
  void Line(int indent) {
    if (!text_.empty()) text_ += '\n';
    text_.append(static_cast<std::size_t>(indent), ' ');
  }
  void Key(const std::string& key, int indent) {
    Line(indent);
    text_ += key + ":";
  }

  void PrintValue(const Message& message, const FieldDescriptor& field, int index, int indent) {
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      text_ += " " + ScalarText(message, field, index);
      return;
    }
    const Reflection& reflection = *message.GetReflection();
    const Message& part = index < 0 ? reflection.GetMessage(message, &field)
                                    : reflection.GetRepeatedMessage(message, &field, index);
    const std::size_t before = text_.size();
    Print(part, indent);
    if (text_.size() == before) text_ += " {}";
  }

  void PrintList(const Message& message, const FieldDescriptor& field, int indent) {
    const int size = message.GetReflection()->FieldSize(message, &field);
    for (int i = 0; i < size; ++i) {
      Line(indent + 2);
      text_ += "-";
      PrintValue(message, field, i, indent + 4);
    }
  }

  void PrintEntries(const Message& message, const FieldDescriptor& field, int indent) {
    const Reflection& reflection = *message.GetReflection();
    const FieldDescriptor* key = field.message_type()->map_key();
    std::map<std::string, const Message*> entries;
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
      entries[entry.GetReflection()->GetString(entry, key)] = &entry;
    }
    for (const auto& [name, entry] : entries) {
      Key(Quoted(name), indent);
      PrintValue(*entry, *field.message_type()->map_value(), -1, indent + 2);
    }
  }

  void PrintOpen(const Message& message, const FieldDescriptor& field, int indent) {
    if (field.is_map()) return PrintEntries(message, field, indent);
    const Message& part = message.GetReflection()->GetMessage(message, &field);
    const auto& keys = *google::protobuf::DynamicCastToGenerated<google::protobuf::Struct>(&part);
    // An object of nlohmann's is sorted, and JSON is YAML.
    const nlohmann::json object = JsonOf(keys);
    for (const auto& [key, value] : object.items()) {
      Key(Quoted(key), indent);
      text_ += " " + value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
  }

  std::string text_;
};

}  // namespace

std::string PrintYaml(const Message& message) {
  Printer printer;
  printer.Print(message, 0);
  return printer.Take() + "\n";
}

std::string HashOf(const Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}
}  // namespace shardplan
