// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/schema.h"

#include <gtest/gtest.h>

#include <set>

#include "shardplan/v1/spec.pb.h"

namespace shardplan {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Every message that a spec or a catalogue file is made of.
void Collect(const Descriptor* type, std::set<const Descriptor*>* types) {
  if (IsStruct(*type) || !types->insert(type).second) return;
  for (int i = 0; i < type->field_count(); ++i)
    if (type->field(i)->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      Collect(type->field(i)->message_type(), types);
}
std::set<const Descriptor*> AllMessages() {
  std::set<const Descriptor*> types;
  Collect(v1::Spec::descriptor(), &types);
  Collect(v1::Link::descriptor(), &types);
  return types;
}

TEST(Schema, EnumValuesAreWrittenInLowerCase) {
  EXPECT_EQ(EnumTexts(*v1::Precision_descriptor()),
            (std::vector<std::string>{"bf16-mixed", "fp16-mixed", "bf16-true", "fp16-true", "fp32",
                                      "tf32", "fp8", "mxfp8", "nvfp4"}));
  EXPECT_EQ(
      EnumTexts(*v1::Schedule_descriptor()),
      (std::vector<std::string>{"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", "dualpipe"}));
  EXPECT_EQ(EnumTexts(*v1::Offload_descriptor()),
            (std::vector<std::string>{"none", "optimizer", "optimizer+params", "activations"}));
}

// The reader and the casts from message to domain rely on it.
TEST(Schema, EnumsCountFromAnUnspecifiedZero) {
  for (const Descriptor* type : AllMessages()) {
    for (int i = 0; i < type->field_count(); ++i) {
      const google::protobuf::EnumDescriptor* values = type->field(i)->enum_type();
      if (values == nullptr) continue;
      EXPECT_TRUE(values->value(0)->name().ends_with("_UNSPECIFIED")) << values->full_name();
      std::set<std::string> texts;
      for (int v = 0; v < values->value_count(); ++v) {
        EXPECT_EQ(values->value(v)->number(), v) << values->value(v)->full_name();
        EXPECT_TRUE(texts.insert(EnumText(*values->value(v))).second)
            << values->value(v)->full_name();
      }
    }
  }
}

// A field without presence could not be told from one left out.
TEST(Schema, EveryScalarKnowsWhetherItWasGiven) {
  for (const Descriptor* type : AllMessages())
    for (int i = 0; i < type->field_count(); ++i)
      EXPECT_TRUE(type->field(i)->is_repeated() || type->field(i)->has_presence())
          << type->field(i)->full_name();
}

TEST(Schema, OptionsFitTheirFields) {
  for (const Descriptor* type : AllMessages()) {
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor& field = *type->field(i);
      EXPECT_TRUE(DimensionOf(field) == Dimension::kNone ||
                  field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE)
          << field.full_name();
      EXPECT_TRUE(!TakesOneValue(field) || field.is_repeated()) << field.full_name();
      const FieldRange range = RangeOf(field);
      EXPECT_LE(range.least, range.most) << field.full_name();
    }
    const FieldDescriptor* shorthand = ShorthandField(*type);
    EXPECT_TRUE(!shorthand || shorthand->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
        << type->full_name();
  }
}

}  // namespace
}  // namespace shardplan
