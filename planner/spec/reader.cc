// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/reader.h"

#include <fmt/format.h>
#include <google/protobuf/struct.pb.h>

#include <algorithm>

#include "planner/base/check.h"
#include "planner/base/nearest.h"
#include "planner/spec/scalar.h"
#include "planner/spec/schema.h"
#include "planner/spec/yaml_tree.h"

namespace shardplan {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Struct;
using google::protobuf::Value;
using Kind = YamlNode::Kind;

constexpr std::size_t kMostItems = 4096;  // of a list

Struct* MutableStruct(Message* message, const FieldDescriptor& field) {
  Message* part = message->GetReflection()->MutableMessage(message, &field);
  auto* fields = google::protobuf::DynamicCastToGenerated<Struct>(part);
  SHARDPLAN_CHECK(fields != nullptr);
  return fields;
}

// Where a value goes: `Put` appends to a repeated field and sets any other.
class Slot {
 public:
  Slot(Message* message, const FieldDescriptor& field)
      : message_(message), field_(&field), reflection_(message->GetReflection()) {}

  Message* Part() {
    return field_->is_repeated() ? reflection_->AddMessage(message_, field_)
                                 : reflection_->MutableMessage(message_, field_);
  }
  void Put(std::int64_t v) {
    const bool wide = field_->cpp_type() == FieldDescriptor::CPPTYPE_INT64;
    const auto narrow = static_cast<std::int32_t>(v);
    if (field_->is_repeated())
      wide ? reflection_->AddInt64(message_, field_, v)
           : reflection_->AddInt32(message_, field_, narrow);
    else
      wide ? reflection_->SetInt64(message_, field_, v)
           : reflection_->SetInt32(message_, field_, narrow);
  }
  void Put(double v) {
    field_->is_repeated() ? reflection_->AddDouble(message_, field_, v)
                          : reflection_->SetDouble(message_, field_, v);
  }
  void Put(bool v) {
    field_->is_repeated() ? reflection_->AddBool(message_, field_, v)
                          : reflection_->SetBool(message_, field_, v);
  }
  void Put(const EnumValueDescriptor* v) {
    field_->is_repeated() ? reflection_->AddEnum(message_, field_, v)
                          : reflection_->SetEnum(message_, field_, v);
  }
  void Put(std::string v) {
    field_->is_repeated() ? reflection_->AddString(message_, field_, std::move(v))
                          : reflection_->SetString(message_, field_, std::move(v));
  }

 private:
  Message* message_;
  const FieldDescriptor* field_;
  const Reflection* reflection_;
};

// Fills one message and its parts. Every function returns the first error it meets.
class Filler {
 public:
  explicit Filler(SourceMap* map) : map_(*map) {}

  Result<void> Fill(Message* message, const YamlNode& node, const std::string& path) {
    const Descriptor& type = *message->GetDescriptor();
    if (node.kind != Kind::kMapping) {
      const FieldDescriptor* field = ShorthandField(type);
      // `overlap:` with all its keys commented out is an empty mapping.
      if (field == nullptr && node.kind == Kind::kNull) return {};
      if (field == nullptr || node.kind == Kind::kNull) return ExpectedMapping(type, node, path);
      return FillField(message, *field, node, path);
    }
    for (const YamlMember& member : node.members) {
      const std::string key_path = Note(path, member);
      if (Result<void> done = FillKey(message, member, key_path); !done) return done;
    }
    return {};
  }

  // Goes down the keys of `argument`, mappings of one key each, and replaces the value under the
  // last of `levels` keys.
  Result<void> Override(Message* message, const YamlNode& argument, int levels,
                        const std::string& path) {
    const YamlMember& member = argument.members.front();
    const std::string key_path = NoteOnce(path, member);
    const FieldDescriptor* field = FieldOf(*message->GetDescriptor(), member.key);
    if (levels == 1) {
      map_.Forget(key_path);
      Note(path, member);
      if (field != nullptr) message->GetReflection()->ClearField(message, field);
      return FillKey(message, member, key_path);
    }
    if (field == nullptr) {
      const FieldDescriptor* open = OpenField(*message->GetDescriptor());
      if (open == nullptr || open->is_map()) return FillKey(message, member, key_path);
      return Override(&(*MutableStruct(message, *open)->mutable_fields())[member.key], member.value,
                      levels - 1, key_path);
    }
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_map())
      return FillKey(message, member, key_path);
    if (field->is_repeated()) message->GetReflection()->ClearField(message, field);
    return Override(Slot(message, *field).Part(), member.value, levels - 1, key_path);
  }

 private:
  // Notes where the key and its value stand; returns the key's path.
  std::string Note(const std::string& path, const YamlMember& member) {
    std::string key_path = Join(path, member.key);
    map_.Set(key_path, {member.place, member.value.place});
    return key_path;
  }

  // The same, but a key that stands elsewhere already keeps its place.
  std::string NoteOnce(const std::string& path, const YamlMember& member) {
    std::string key_path = Join(path, member.key);
    return map_.Find(key_path) ? key_path : Note(path, member);
  }

  Result<void> ExpectedMapping(const Descriptor& type, const YamlNode& node,
                               const std::string& path) const {
    const FieldDescriptor* field = ShorthandField(type);
    const std::string keys = fmt::format("{}", fmt::join(KeysOf(type), ", "));
    const std::string mapping =
        keys.empty() ? "a mapping" : fmt::format("a mapping with keys of {}", keys);
    return InvalidAt(node.place, path, fmt::format("found {}", KindText(node)),
                     field ? fmt::format("expected its {} or {}", field->name(), mapping)
                           : fmt::format("expected {}", mapping));
  }

  Result<void> FillKey(Message* message, const YamlMember& member, const std::string& path) {
    const Descriptor& type = *message->GetDescriptor();
    if (const FieldDescriptor* field = FieldOf(type, member.key))
      return FillField(message, *field, member.value, path);
    const FieldDescriptor* open = OpenField(type);
    if (open == nullptr) {
      const std::string parent = path.substr(0, path.find_last_of('.'));
      return InvalidAt(member.place, path, "unknown key",
                       Suggest(member.key, KeysOf(type),
                               parent == path ? "the keys are" : "the keys of " + parent + " are"));
    }
    if (open->is_map()) return FillEntry(message, *open, member, path);
    return FillFree(&(*MutableStruct(message, *open)->mutable_fields())[member.key], member.value,
                    path);
  }

  Result<void> FillField(Message* message, const FieldDescriptor& field, const YamlNode& node,
                         const std::string& path) {
    if (node.kind == Kind::kNull && TakesNull(field)) return {};
    if (field.is_map()) return FillMap(message, field, node, path);
    if (field.is_repeated()) return FillList(message, field, node, path);
    return FillOne(message, field, node, path);
  }

  Result<void> FillMap(Message* message, const FieldDescriptor& field, const YamlNode& node,
                       const std::string& path) {
    if (node.kind != Kind::kMapping)
      return InvalidAt(node.place, path, fmt::format("found {}", KindText(node)),
                       "expected a mapping");
    for (const YamlMember& member : node.members) {
      const std::string key_path = Note(path, member);
      if (Result<void> done = FillEntry(message, field, member, key_path); !done) return done;
    }
    return {};
  }

  Result<void> FillEntry(Message* message, const FieldDescriptor& map, const YamlMember& member,
                         const std::string& path) {
    const Descriptor& type = *map.message_type();
    Message* entry = message->GetReflection()->AddMessage(message, &map);
    entry->GetReflection()->SetString(entry, type.map_key(), member.key);
    return FillOne(entry, *type.map_value(), member.value, path);
  }

  // Whether `node` is the list of values itself, and not one value that is a list.
  static bool IsListOf(const FieldDescriptor& field, const YamlNode& node) {
    if (node.kind != Kind::kList) return false;
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || !TakesOneValue(field)) return true;
    const FieldDescriptor* element = ShorthandField(*field.message_type());
    if (element == nullptr || !element->is_repeated()) return true;
    return std::any_of(node.items.begin(), node.items.end(),
                       [](const YamlNode& item) { return item.kind != Kind::kScalar; });
  }

  Result<void> FillList(Message* message, const FieldDescriptor& field, const YamlNode& node,
                        const std::string& path) {
    if (!IsListOf(field, node)) {
      if (TakesOneValue(field) && node.kind != Kind::kNull)
        return FillOne(message, field, node, path);
      return InvalidAt(node.place, path, fmt::format("found {}", KindText(node)),
                       TakesOneValue(field) ? "expected a value or a list of values"
                                            : "expected a list, as in [1, 2]");
    }
    if (node.items.empty())
      return InvalidAt(node.place, path, "the list is empty",
                       "give at least one value, or leave the key out");
    if (node.items.size() > kMostItems)
      return InvalidAt(node.place, path, fmt::format("{} values", node.items.size()),
                       fmt::format("expected up to {}", kMostItems));
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const std::string item_path = NoteItem(path, node, i);
      if (Result<void> done = FillOne(message, field, node.items[i], item_path); !done) return done;
    }
    return {};
  }

  std::string NoteItem(const std::string& path, const YamlNode& list, std::size_t i) {
    std::string item_path = fmt::format("{}[{}]", path, i);
    map_.Set(item_path, {list.items[i].place, list.items[i].place});
    return item_path;
  }

  Result<void> FillOne(Message* message, const FieldDescriptor& field, const YamlNode& node,
                       const std::string& path) {
    Slot slot(message, field);
    const auto put = [&](auto value) { slot.Put(std::move(value)); };
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Fill(slot.Part(), node, path);
      case FieldDescriptor::CPPTYPE_INT32:
      case FieldDescriptor::CPPTYPE_INT64:
        return WholeOf(field, node, path).map(put);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return NumberOf(field, node, path).map(put);
      case FieldDescriptor::CPPTYPE_BOOL:
        return BoolOf(node, path).map(put);
      case FieldDescriptor::CPPTYPE_ENUM:
        return EnumOf(field, node, path).map(put);
      case FieldDescriptor::CPPTYPE_STRING:
        return TextOf(field, node, path).map(put);
      default:
        break;
    }
    SHARDPLAN_CHECK(!"a type that no schema uses");
    return {};
  }

  // A value of an open mapping, whatever its shape.
  Result<void> FillFree(Value* value, const YamlNode& node, const std::string& path) {
    switch (node.kind) {
      case Kind::kNull:
        value->set_null_value(google::protobuf::NULL_VALUE);
        return {};
      case Kind::kScalar:
        return FreeValueOf(node, path).map([&](Value v) { *value = std::move(v); });
      case Kind::kList:
        value->mutable_list_value()->clear_values();
        for (std::size_t i = 0; i < node.items.size(); ++i) {
          const std::string item_path = NoteItem(path, node, i);
          Value* item = value->mutable_list_value()->add_values();
          if (Result<void> done = FillFree(item, node.items[i], item_path); !done) return done;
        }
        return {};
      case Kind::kMapping:
        break;
    }
    value->mutable_struct_value()->clear_fields();
    for (const YamlMember& member : node.members) {
      const std::string key_path = Note(path, member);
      Value* field = &(*value->mutable_struct_value()->mutable_fields())[member.key];
      if (Result<void> done = FillFree(field, member.value, key_path); !done) return done;
    }
    return {};
  }

  Result<void> Override(Value* value, const YamlNode& argument, int levels,
                        const std::string& path) {
    const YamlMember& member = argument.members.front();
    const std::string key_path = NoteOnce(path, member);
    Value* field = &(*value->mutable_struct_value()->mutable_fields())[member.key];
    if (levels > 1) return Override(field, member.value, levels - 1, key_path);
    map_.Forget(key_path);
    Note(path, member);
    return FillFree(field, member.value, key_path);
  }

  SourceMap& map_;
};

}  // namespace

Result<void> ReadMessage(const SourcePtr& source, Message* message, SourceMap* map) {
  const Result<YamlNode> root = ParseYaml(source);
  if (!root) return tl::unexpected(root.error());
  map->Set("", {{.source = source}, {.source = source}});
  if (root->kind == Kind::kNull)
    return InvalidAt({.source = source}, "", "empty",
                     fmt::format("expected a mapping with keys of {}",
                                 fmt::join(KeysOf(*message->GetDescriptor()), ", ")));
  return Filler(map).Fill(message, *root, "");
}

Result<void> SetKey(const std::string& argument, Message* message, SourceMap* map) {
  constexpr int kMostLevels = 16;
  const SourcePtr source = MakeSource("--set", argument, true);
  const Place whole = Place{source, 0, argument.size()};
  const char* const kForm = "write --set key.path=value, as in --set plan.tp=4";
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos) return InvalidAt(whole, "", "no value", kForm);
  const std::string path = argument.substr(0, equals);
  std::vector<YamlMember> keys;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    if (end == begin) return InvalidAt(Place{source, begin, 1}, "", "a key is empty", kForm);
    keys.push_back(
        {.key = path.substr(begin, end - begin), .place = Place{source, begin, end - begin}});
    begin = end + 1;
  }
  if (keys.size() > kMostLevels)
    return InvalidAt(whole, "", fmt::format("more than {} keys deep", kMostLevels), kForm);
  Result<YamlNode> value = ParseYaml(source, equals + 1, path);
  if (!value) return tl::unexpected(value.error());
  if (value->place.offset == Place::kNowhere) value->place = Place{source, argument.size(), 1};
  YamlNode node = std::move(*value);
  for (std::size_t i = keys.size(); i-- > 0;) {
    keys[i].value = std::move(node);
    node = {.kind = Kind::kMapping, .place = keys[i].place};
    node.members.push_back(std::move(keys[i]));
  }
  return Filler(map).Override(message, node, static_cast<int>(keys.size()), "");
}
}  // namespace shardplan
