// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/writer.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "planner/spec/reader.h"
#include "planner/spec/schema.h"
#include "shardplan/v1/spec.pb.h"

namespace shardplan {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Any message that the reader could have made, from a seed.
class RandomMessage {
 public:
  explicit RandomMessage(std::uint64_t seed) : random_(seed) {}

  void Fill(Message* message, int depth) {
    const google::protobuf::Descriptor& type = *message->GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (!Coin()) continue;
      if (&field == OpenField(type)) {
        FillOpen(message, field);
      } else if (field.is_repeated()) {
        for (int count = Int(1, 3); count > 0; --count) Put(message, field, depth);
      } else {
        Put(message, field, depth);
      }
    }
    // A repeated field cannot be empty in the file, nor can a mapping's short form be.
    const FieldDescriptor* shorthand = ShorthandField(type);
    if (shorthand && shorthand->is_repeated() &&
        message->GetReflection()->FieldSize(*message, shorthand) == 0)
      Put(message, *shorthand, depth);
  }

 private:
  int Int(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  bool Coin() { return Int(0, 1) == 1; }
  std::string Text() {
    static const std::vector<std::string> kTexts = {"llama",      "a b",  "8x400Gb/s infiniband",
                                                    "true",       "12",   "null",
                                                    "~",          "a: b", "# no",
                                                    "\"q\"",      "it's", "\\n",
                                                    "\xc3\xbc",   "-",    "[1]",
                                                    "{}",         "@x",   "\t",
                                                    "line\nbreak"};
    return kTexts[static_cast<std::size_t>(Int(0, static_cast<int>(kTexts.size()) - 1))];
  }
  double Number(const FieldRange& range) {
    const double most = std::min(range.most, 1e15);
    const double value = range.least + (most - range.least) * std::pow(10.0, -Int(0, 14));
    return Coin() ? value : std::max(range.open ? range.least + 1e-3 : range.least, 0.5);
  }

  void FillOpen(Message* message, const FieldDescriptor& field) {
    Message* part = message->GetReflection()->MutableMessage(message, &field);
    auto& keys =
        *google::protobuf::DynamicCastToGenerated<google::protobuf::Struct>(part)->mutable_fields();
    for (int i = Int(1, 4); i > 0; --i) {
      google::protobuf::Value& value = keys["Key" + std::to_string(i)];
      switch (Int(0, 4)) {
        case 0:
          value.set_number_value(Int(-1000, 1000) / 8.0);
          break;
        case 1:
          value.set_string_value(Text());
          break;
        case 2:
          value.set_bool_value(Coin());
          break;
        case 3:
          value.set_null_value(google::protobuf::NULL_VALUE);
          break;
        default:
          (*value.mutable_struct_value()->mutable_fields())["a"].set_number_value(1);
          value.mutable_struct_value()->mutable_fields()->insert({"b", {}});
          (*value.mutable_struct_value()->mutable_fields())["b"].set_string_value(Text());
      }
    }
  }

  void Put(Message* message, const FieldDescriptor& field, int depth) {
    const Reflection& r = *message->GetReflection();
    const FieldRange range = RangeOf(field);
    const bool many = field.is_repeated();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (depth > 0)
          Fill(many ? r.AddMessage(message, &field) : r.MutableMessage(message, &field), depth - 1);
        break;
      case FieldDescriptor::CPPTYPE_INT32: {
        const int value = Int(static_cast<int>(range.least), static_cast<int>(range.most));
        many ? r.AddInt32(message, &field, value) : r.SetInt32(message, &field, value);
        break;
      }
      case FieldDescriptor::CPPTYPE_INT64:
        r.SetInt64(message, &field, Int(1, 1000000000));
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        r.SetDouble(message, &field, Number(range));
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        many ? r.AddBool(message, &field, Coin()) : r.SetBool(message, &field, Coin());
        break;
      case FieldDescriptor::CPPTYPE_ENUM: {
        const auto* value = field.enum_type()->value(Int(1, field.enum_type()->value_count() - 1));
        many ? r.AddEnum(message, &field, value) : r.SetEnum(message, &field, value);
        break;
      }
      case FieldDescriptor::CPPTYPE_STRING:
        many ? r.AddString(message, &field, Text()) : r.SetString(message, &field, Text());
        break;
      default:
        FAIL() << "no schema uses this type";
    }
  }

  std::mt19937_64 random_;
};

TEST(Writer, WhatIsPrintedIsReadBack) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    v1::Spec spec;
    RandomMessage(seed).Fill(&spec, 6);
    if (spec.ByteSizeLong() == 0) continue;
    const std::string text = PrintYaml(spec);
    v1::Spec again;
    SourceMap map;
    const Result<void> read = ReadMessage(MakeSource("printed", text), &again, &map);
    ASSERT_TRUE(read.has_value()) << "seed " << seed << '\n'
                                  << read.error().message << '\n'
                                  << text;
    std::string difference;
    google::protobuf::util::MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&difference);
    ASSERT_TRUE(differencer.Compare(spec, again)) << "seed " << seed << '\n' << difference << text;
    ASSERT_EQ(HashOf(spec), HashOf(again)) << "seed " << seed;
  }
}

TEST(Writer, PrintsShortFormsAndRemarks) {
  v1::Spec spec;
  spec.mutable_plan()->add_tp(4);
  spec.mutable_plan()->add_pp(2);
  spec.mutable_plan()->add_pp(4);
  spec.mutable_plan()->add_recompute()->set_kind(v1::RECOMPUTE_KIND_FULL);
  for (int layers : {7, 9}) {
    v1::StageLayers* stages = spec.mutable_plan()->stage_layers_size() > 0
                                  ? spec.mutable_plan()->mutable_stage_layers(0)
                                  : spec.mutable_plan()->add_stage_layers();
    stages->add_layers(layers);
  }
  spec.mutable_cluster()->mutable_gpu()->set_base("h100-sxm-80gb");
  spec.mutable_train()->set_precision(v1::PRECISION_BF16_MIXED);
  spec.mutable_search()->set_memory_reserve(2147483648.0);
  const auto remark = [](const std::string& path) {
    return path == "plan.tp" || path == "cluster.gpu" ? "of " + path : "";
  };
  EXPECT_EQ(PrintYaml(spec, remark),
            "cluster:\n"
            "  gpu: \"h100-sxm-80gb\"  # of cluster.gpu\n"
            "train:\n"
            "  precision: bf16-mixed\n"
            "plan:\n"
            "  tp: 4  # of plan.tp\n"
            "  pp: [2, 4]\n"
            "  stage_layers: [7, 9]\n"
            "  recompute: full\n"
            "search:\n"
            "  memory_reserve: 2147483648\n");
}

// Caches keep hashes: a change here loses them.
TEST(Hash, IsStable) {
  v1::Spec spec;
  EXPECT_EQ(HashOf(spec), "cbf29ce484222325") << "FNV-1a of nothing";
  spec.mutable_plan()->add_tp(4);
  EXPECT_EQ(HashOf(spec), "3c34a8e6e986103d");
}

TEST(Hash, DoesNotDependOnTheOrderOfKeys) {
  const auto hash = [](const std::string& text) {
    v1::Spec spec;
    SourceMap map;
    EXPECT_TRUE(ReadMessage(MakeSource("a", text), &spec, &map).has_value());
    return HashOf(spec);
  };
  EXPECT_EQ(hash("{model: {a: 1, b: 2}, plan: {tp: 4, pp: 2}}"),
            hash("plan: {pp: 2.0, tp: [4]}\nmodel:\n  b: 2\n  a: 1e0\n"));
  EXPECT_NE(hash("{plan: {tp: 4}}"), hash("{plan: {pp: 4}}"));
}

}  // namespace
}  // namespace shardplan
