// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/writer.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/struct.pb.h>

#include <cctype>
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
      return EnumText(
          *(one ? r.GetEnum(message, &field) : r.GetRepeatedEnum(message, &field, index)));
    case FieldDescriptor::CPPTYPE_STRING:
      return Quoted(one ? r.GetString(message, &field)
                        : r.GetRepeatedString(message, &field, index));
    default:
      break;
  }
  SHARDPLAN_CHECK(!"a type that no schema uses");
  return "";
}

bool IsScalar(const FieldDescriptor& field) {
  return field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE;
}

class Printer {
 public:
  explicit Printer(const Remark& remark) : remark_(remark) {}

  // Members of a mapping at `path`; each begins with a line break and `indent` blanks.
  void Print(const Message& message, const std::string& path, int indent) {
    for (const FieldDescriptor* field : SetFields(message)) {
      const std::string key = Join(path, field->name());
      if (field == OpenField(*message.GetDescriptor())) {
        PrintOpen(message, *field, path, indent);
        continue;
      }
      Key(field->name(), indent);
      if (field->is_map())
        PrintEntries(message, *field, key, indent + 2);
      else if (field->is_repeated())
        PrintList(message, *field, key, indent);
      else
        PrintValue(message, *field, -1, key, indent + 2);
      if (!field->is_map() && (IsScalar(*field) || field->is_repeated())) Comment(key);
    }
  }

  std::string Take() { return std::move(text_); }

 private:
  static std::vector<const FieldDescriptor*> SetFields(const Message& message) {
    std::vector<const FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    return fields;
  }
  static std::string Join(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }
  // The field in whose short form all of the message can be said; null: none.
  static const FieldDescriptor* ShortForm(const Message& message) {
    const FieldDescriptor* field = ShorthandField(*message.GetDescriptor());
    const auto fields = SetFields(message);
    const bool all = fields.size() == 1 && fields[0] == field && IsScalar(*field);
    return all ? field : nullptr;
  }

  void Line(int indent) {
    if (!text_.empty()) text_ += '\n';
    text_.append(static_cast<std::size_t>(indent), ' ');
  }
  void Key(const std::string& key, int indent) {
    Line(indent);
    text_ += key + ":";
  }
  void Comment(const std::string& path) {
    const std::string words = remark_ ? remark_(path) : "";
    if (!words.empty()) text_ += "  # " + words;
  }

  void PrintValue(const Message& message, const FieldDescriptor& field, int index,
                  const std::string& path, int indent) {
    if (IsScalar(field)) {
      text_ += " " + ScalarText(message, field, index);
      return;
    }
    const Reflection& reflection = *message.GetReflection();
    const Message& part = index < 0 ? reflection.GetMessage(message, &field)
                                    : reflection.GetRepeatedMessage(message, &field, index);
    if (const FieldDescriptor* brief = ShortForm(part)) {
      if (brief->is_repeated())
        text_ += " " + Flow(part, *brief);
      else
        PrintValue(part, *brief, -1, path, indent);
      if (index < 0) Comment(path);
      return;
    }
    const std::size_t before = text_.size();
    Print(part, path, indent);
    if (text_.size() == before) text_ += " {}";
  }

  // "[1, 2]", of scalars.
  static std::string Flow(const Message& message, const FieldDescriptor& field) {
    std::string list;
    const int size = message.GetReflection()->FieldSize(message, &field);
    for (int i = 0; i < size; ++i) list += (i == 0 ? "" : ", ") + ScalarText(message, field, i);
    return "[" + list + "]";
  }

  void PrintList(const Message& message, const FieldDescriptor& field, const std::string& path,
                 int indent) {
    const int size = message.GetReflection()->FieldSize(message, &field);
    if (size == 1 && TakesOneValue(field)) return PrintValue(message, field, 0, path, indent + 2);
    if (IsScalar(field)) {
      text_ += " " + Flow(message, field);
      return;
    }
    for (int i = 0; i < size; ++i) {
      Line(indent + 2);
      text_ += "-";
      PrintValue(message, field, i, fmt::format("{}[{}]", path, i), indent + 4);
    }
  }

  void PrintEntries(const Message& message, const FieldDescriptor& field, const std::string& path,
                    int indent) {
    const Reflection& reflection = *message.GetReflection();
    const FieldDescriptor* key = field.message_type()->map_key();
    std::map<std::string, const Message*> entries;
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
      entries[entry.GetReflection()->GetString(entry, key)] = &entry;
    }
    for (const auto& [name, entry] : entries) {
      Key(Quoted(name), indent);
      PrintValue(*entry, *field.message_type()->map_value(), -1, Join(path, name), indent + 2);
    }
  }

  void PrintOpen(const Message& message, const FieldDescriptor& field, const std::string& path,
                 int indent) {
    if (field.is_map()) return PrintEntries(message, field, path, indent);
    const Message& part = message.GetReflection()->GetMessage(message, &field);
    const auto& keys = *google::protobuf::DynamicCastToGenerated<google::protobuf::Struct>(&part);
    // An object of nlohmann's is sorted, and JSON is YAML.
    const nlohmann::json object = JsonOf(keys);
    for (const auto& [key, value] : object.items()) {
      Key(IsPlain(key) ? key : Quoted(key), indent);
      text_ += " " + value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
      Comment(Join(path, key));
    }
  }

  // A key that means itself without quotes.
  static bool IsPlain(const std::string& key) {
    return !key.empty() && std::islower(static_cast<unsigned char>(key[0])) != 0 &&
           key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos &&
           key != "true" && key != "false" && key != "null";
  }

  const Remark& remark_;
  std::string text_;
};

}  // namespace

std::string PrintYaml(const Message& message, const Remark& remark) {
  Printer printer(remark);
  printer.Print(message, "", 0);
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
