// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/reader.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "planner/spec/spec_text.h"

namespace shardplan {
namespace {

using google::protobuf::util::MessageDifferencer;

v1::Spec Read(const std::string& text, const std::vector<std::string>& sets = {}) {
  const Result<SpecText> read = ReadSpec(MakeSource("spec.yaml", text), "", sets);
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return read ? read->spec : v1::Spec();
}
v1::Plan ReadPlan(const std::string& text) { return Read("plan: {" + text + "}").plan(); }

template <class T>
std::vector<int> Ints(const T& repeated) {
  return std::vector<int>(repeated.begin(), repeated.end());
}

TEST(Reader, OneValueAndAListOfOneAreTheSame) {
  EXPECT_TRUE(MessageDifferencer::Equals(ReadPlan("tp: 4"), ReadPlan("tp: [4]")));
  EXPECT_TRUE(
      MessageDifferencer::Equals(ReadPlan("recompute: full"), ReadPlan("recompute: [full]")));
  EXPECT_TRUE(MessageDifferencer::Equals(ReadPlan("stage_layers: [19, 21]"),
                                         ReadPlan("stage_layers: [[19, 21]]")));
}

TEST(Reader, AListIsTheCandidates) {
  EXPECT_EQ(Ints(ReadPlan("tp: [1, 2, 4]").tp()), (std::vector<int>{1, 2, 4}));
  const v1::Plan plan = ReadPlan("stage_layers: [[19, 21], [20, 20]]");
  ASSERT_EQ(plan.stage_layers_size(), 2);
  EXPECT_EQ(Ints(plan.stage_layers(1).layers()), (std::vector<int>{20, 20}));
}

TEST(Reader, RecomputeTakesAWordModulesOrLayers) {
  const v1::Plan plan =
      ReadPlan("recompute: [none, {modules: [core_attn, mlp]}, {layers: 4}, {layers: [1, 2]}]");
  ASSERT_EQ(plan.recompute_size(), 4);
  EXPECT_EQ(plan.recompute(0).kind(), v1::RECOMPUTE_KIND_NONE);
  EXPECT_EQ(plan.recompute(1).modules_size(), 2);
  EXPECT_EQ(Ints(plan.recompute(2).layers()), std::vector<int>{4});
  EXPECT_EQ(Ints(plan.recompute(3).layers()), (std::vector<int>{1, 2}));
}

TEST(Reader, AShortFormFillsOneField) {
  const v1::Cluster cluster =
      Read("cluster: {gpu: h200-sxm, scale_up: nvlink4, scale_out: 8x400Gb/s infiniband}")
          .cluster();
  EXPECT_EQ(cluster.gpu().base(), "h200-sxm");
  EXPECT_EQ(cluster.scale_up().kind(), "nvlink4");
  EXPECT_EQ(cluster.scale_out().form(), "8x400Gb/s infiniband");
  EXPECT_EQ(Read("cluster: local").cluster().preset(), "local");
  EXPECT_EQ(Read("model: {config: llama/}").model().config().path(), "llama/");
}

TEST(Reader, QuantitiesTakeUnits) {
  const v1::Cluster cluster =
      Read("cluster: {host_memory: 2TiB, nvme: {read: 7GB/s}, gpu: {power_limit: 500W}}").cluster();
  EXPECT_EQ(cluster.host_memory(), 2199023255552.0);
  EXPECT_EQ(cluster.nvme().read(), 7e9);
  EXPECT_EQ(cluster.gpu().power_limit(), 500);
}

TEST(Reader, OpenMappingsTakeEveryKey) {
  const v1::Model model =
      Read(
          "model: {preset: x, hidden_size: 4096, rope: {factor: 8.5}, tie: false, act: \"1\", "
          "window: [1, null]}")
          .model();
  EXPECT_EQ(model.preset(), "x");
  const auto& keys = model.keys().fields();
  EXPECT_EQ(keys.size(), 5u);
  EXPECT_EQ(keys.at("hidden_size").number_value(), 4096);
  EXPECT_EQ(keys.at("rope").struct_value().fields().at("factor").number_value(), 8.5);
  EXPECT_EQ(keys.at("act").string_value(), "1") << "quoted text stays text";
  EXPECT_TRUE(keys.at("tie").has_bool_value());
  EXPECT_TRUE(keys.at("window").list_value().values(1).has_null_value());
}

TEST(Reader, NumbersMayStandForTextWhereTheyAreVersions) {
  EXPECT_EQ(Read("train: {framework_version: 0.14}").train().framework_version(), "0.14");
  EXPECT_EQ(Read("cluster: {nccl: {version: 2.28}}").cluster().nccl().version(), "2.28");
}

TEST(Reader, NullLeavesOutWhatSaysSo) {
  EXPECT_FALSE(Read("train: {moe: {capacity_factor: null}}").train().moe().has_capacity_factor());
  EXPECT_FALSE(Read("plan:\nsearch:\n").has_model()) << "sections may be empty";
}

TEST(Reader, JsonIsReadByTheSame) {
  EXPECT_TRUE(MessageDifferencer::Equals(
      Read("plan:\n  tp: [1, 2]\n  sp: true\ntrain:\n  precision: fp8\n"),
      Read("{\"plan\":{\"tp\":[1,2],\"sp\":true},\n\t\"train\":{\"precision\":\"fp8\"}}")));
}

TEST(Reader, AByteOrderMarkAndWindowsLineEndsAreFine) {
  EXPECT_EQ(Read("\xef\xbb\xbfplan:\r\n  tp: 4\r\n").plan().tp(0), 4);
}

TEST(Set, ReplacesAValue) {
  EXPECT_EQ(Ints(Read("plan: {tp: [1, 2]}", {"plan.tp=4"}).plan().tp()), std::vector<int>{4});
  EXPECT_EQ(Ints(Read("plan: {tp: 1}", {"plan.tp=[4, 8]"}).plan().tp()), (std::vector<int>{4, 8}));
  EXPECT_EQ(Read("plan: {tp: 1}", {"search.keep=7"}).search().keep(), 7);
}

TEST(Set, TheLastOneCounts) {
  EXPECT_EQ(Read("plan: {tp: 1}", {"plan.tp=4", "plan.tp=8"}).plan().tp(0), 8);
}

TEST(Set, GoesBelowAShortForm) {
  const v1::Gpu gpu =
      Read("cluster: {gpu: h100-sxm-80gb}", {"cluster.gpu.memory=96GiB"}).cluster().gpu();
  EXPECT_EQ(gpu.base(), "h100-sxm-80gb");
  EXPECT_EQ(gpu.memory(), 96.0 * (1u << 30));
}

TEST(Set, ReplacesAMappingAsAWhole) {
  const v1::Gpu gpu =
      Read("cluster: {gpu: {base: h100, memory: 96GiB}}", {"cluster.gpu=h200"}).cluster().gpu();
  EXPECT_EQ(gpu.base(), "h200");
  EXPECT_FALSE(gpu.has_memory());
}

TEST(Set, ReachesFreeKeys) {
  const v1::Spec spec =
      Read("model: {hidden_size: 1, rope: {factor: 2}}",
           {"model.hidden_size=64", "model.rope.base=5", "cluster.nccl.NCCL_ALGO=Ring"});
  const auto& keys = spec.model().keys().fields();
  EXPECT_EQ(keys.at("hidden_size").number_value(), 64);
  EXPECT_EQ(keys.at("rope").struct_value().fields_size(), 2);
  EXPECT_EQ(spec.cluster().nccl().variables().fields().at("NCCL_ALGO").string_value(), "Ring");
}

TEST(Places, AreKnownByKeyPath) {
  const std::string text = "model:\n  preset: \"llama\"\nplan: {tp: [1, 22]}\n";
  const Result<SpecText> read = ReadSpec(MakeSource("a.yaml", text), "", {});
  ASSERT_TRUE(read.has_value());
  const auto at = [&](const std::string& path) {
    const Position position = PositionOf(read->map.Find(path)->value);
    return std::pair(position.line, position.column);
  };
  EXPECT_EQ(at("model.preset"), std::pair(2, 11));
  EXPECT_EQ(at("plan.tp"), std::pair(3, 12));
  EXPECT_EQ(at("plan.tp[1]"), std::pair(3, 16));
  EXPECT_EQ(read->map.Find("plan.pp"), nullptr);
  EXPECT_EQ(PositionOf(read->map.ValueOrParent("plan.pp.x")).line, 3) << "its section";
}

}  // namespace
}  // namespace shardplan
