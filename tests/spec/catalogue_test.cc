// SPDX-License-Identifier: Apache-2.0
// The files of configs/: each is read, alone and as part of a spec.
#include "planner/spec/catalogue.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>

#include "planner/spec/problem.h"
#include "shardplan/v1/spec.pb.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Names(const char* folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(ConfigDirectory()) / folder))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  EXPECT_FALSE(names.empty()) << folder;
  return names;
}

template <class Message>
Message Entry(const char* folder, const std::string& name) {
  Message message;
  SourceMap map;
  const Result<void> read = ReadEntry(folder, name, {}, &message, &map);
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return message;
}

constexpr char kRest[] =
    "model: {preset: llama-3-8b}\ntrain: {seq_length: 4096, global_batch_size: 64}\n";

TEST(Catalogue, EveryGpuIsWhole) {
  for (const std::string& name : Names("gpus")) {
    EXPECT_FALSE(Entry<v1::Gpu>("gpus", name).has_base()) << name << " names another";
    const Result<Problem> read =
        ParseProblem(kRest + ("cluster: {gpu: " + name + "}"), "s", {}, Needs::kAll);
    ASSERT_TRUE(read.has_value()) << name << '\n' << read.error().message;
    const Machine& machine = read->machine;
    EXPECT_EQ(machine.gpu.name, name);
    EXPECT_GT(machine.gpu.memory.value, 1e9) << name;
    EXPECT_GT(machine.gpu.memory_bandwidth.value, 1e11) << name;
    EXPECT_GT(machine.scale_up.bandwidth.value, 1e9) << name;
    EXPECT_GE(machine.scale_up_domain, 1) << name;
  }
}

TEST(Catalogue, EveryLinkIsWhole) {
  for (const std::string& name : Names("links")) {
    const v1::Link link = Entry<v1::Link>("links", name);
    EXPECT_GT(link.bandwidth(), 1e9) << name;
    EXPECT_GT(link.latency(), 0) << name;
    EXPECT_TRUE(link.has_fabric()) << name;
  }
}

TEST(Catalogue, EveryClusterIsWhole) {
  for (const std::string& name : Names("clusters")) {
    EXPECT_FALSE(Entry<v1::Cluster>("clusters", name).has_preset()) << name << " names another";
    const Result<Problem> read =
        ParseProblem(kRest + ("cluster: {preset: " + name + "}"), "s", {}, Needs::kAll);
    ASSERT_TRUE(read.has_value()) << name << '\n' << read.error().message;
    EXPECT_EQ(read->machine.name, name);
  }
}

TEST(Catalogue, EveryModelIsRead) {
  for (const std::string& name : Names("models")) {
    const Result<Problem> read =
        ParseProblem("model: {preset: " + name + "}", "s", {}, Needs::kModel);
    ASSERT_TRUE(read.has_value()) << name << '\n' << read.error().message;
    EXPECT_GT(CountParameters(read->model).total, 1e6) << name;
  }
}

TEST(Catalogue, EverySpecIsRead) {
  const std::vector<std::string> names = Names("specs");
  EXPECT_GE(names.size(), 12u);
  for (const std::string& name : names) {
    const std::string path = (fs::path(ConfigDirectory()) / "specs" / (name + ".yaml")).string();
    const Result<Problem> read = ReadProblem(path, {}, Needs::kAll);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    // The name says on how many GPUs it runs: llama-3-70b-64xh100.
    std::smatch match;
    if (std::regex_search(name, match, std::regex("-([0-9]+)x[a-z]"))) {
      EXPECT_EQ(read->machine.Gpus(), std::stoi(match[1])) << name;
    }
  }
}

// A file of the user's own, with a mistake in it.
class ConfigFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("shardplan-" + std::to_string(::getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_ / "tiny");
  }
  void TearDown() override { fs::remove_all(folder_); }
  void Write(const char* name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  std::string Path(const char* name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

constexpr char kTiny[] =
    R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 4,
 "vocab_size": 1000, "torch_dtype": "bfloat16", "unheard_of": [1, {"a": null}]})";

constexpr char kTinyByHand[] =
    "{model_type: llama, num_hidden_layers: 2, hidden_size: 256, num_attention_heads: 4}";

TEST_F(ConfigFile, AConfigIsFoundBesideTheSpec) {
  Write("tiny/config.json", kTiny);
  for (const char* path : {"tiny", "tiny/", "tiny/config.json"}) {
    Write("spec.yaml", "model: {config: " + std::string(path) + "}");
    const Result<Problem> read = ReadProblem(Path("spec.yaml"), {}, Needs::kModel);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(read->title, "tiny");
    EXPECT_EQ(read->model.facts.layers, 2);
  }
}

TEST_F(ConfigFile, KeysOfTheSpecOverrideIt) {
  Write("tiny/config.json", kTiny);
  Write("spec.yaml", "model: {config: tiny, num_hidden_layers: 3}");
  EXPECT_EQ(ReadProblem(Path("spec.yaml"), {}, Needs::kModel)->model.facts.layers, 3);
  EXPECT_EQ(ReadProblem(Path("spec.yaml"), {"model.num_hidden_layers=5"}, Needs::kModel)
                ->model.facts.layers,
            5);
}

TEST_F(ConfigFile, AMistakeInItIsShownThere) {
  Write("tiny/config.json", "{\"model_type\": \"llama\",\n \"hidden_size\": -8}");
  Write("spec.yaml", "model: {config: tiny}");
  const Result<Problem> read = ReadProblem(Path("spec.yaml"), {}, Needs::kModel);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().message,
            Path("tiny/config.json") +
                ":2:17: hidden_size: is -8\n"
                "  2 |  \"hidden_size\": -8}\n"
                "    |                 ^^\n"
                "  expected an integer from 1 to 1000000; llama has 4096 by default");
}

TEST_F(ConfigFile, ARenamedSpecKeepsItsHash) {
  Write("a.yaml", std::string("model: ") + kTinyByHand);
  Write("b.yaml", std::string("model: ") + kTinyByHand);
  const Result<Problem> a = ReadProblem(Path("a.yaml"), {}, Needs::kModel);
  const Result<Problem> b = ReadProblem(Path("b.yaml"), {}, Needs::kModel);
  ASSERT_TRUE(a.has_value()) << a.error().message;
  EXPECT_EQ(a->title, "a") << "a model by hand is called as its file";
  EXPECT_EQ(b->title, "b");
  EXPECT_EQ(a->spec_hash, b->spec_hash);
}

TEST_F(ConfigFile, ADashIsStandardInput) {
  std::istringstream input("modle: 4\n");
  std::streambuf* const before = std::cin.rdbuf(input.rdbuf());
  const Result<Problem> read = ReadProblem("-", {}, Needs::kModel);
  std::cin.rdbuf(before);
  ASSERT_FALSE(read.has_value());
  EXPECT_TRUE(read.error().message.starts_with("stdin:1:1: modle: unknown key"))
      << read.error().message;
}

TEST_F(ConfigFile, WhatIsNoFileIsSaid) {
  Write("llama-70b.yaml", "model:");
  const auto message = [&](const std::string& path) {
    return ReadProblem(path, {}, Needs::kModel).error().message;
  };
  EXPECT_EQ(message(Path("llama-7b.yaml")), Path("llama-7b.yaml") +
                                                ": no such file\n  did you mean llama-70b? (in " +
                                                folder_.string() + ")");
  EXPECT_EQ(message(folder_.string()), folder_.string() + ": is a folder\n  name a file in it");
  EXPECT_EQ(message("/dev/null"), "/dev/null: is not a regular file");
}

TEST_F(ConfigFile, TheCatalogueMovesWithTheEnvironment) {
  fs::create_directories(folder_ / "models");
  Write("models/own.yaml", kTiny);
  ASSERT_EQ(setenv("SHARDPLAN_CONFIGS", folder_.c_str(), 1), 0);
  const Result<Problem> read = ParseProblem("model: {preset: own}", "s", {}, Needs::kModel);
  const Result<Problem> other = ParseProblem("cluster: {gpu: own}", "s", {}, Needs::kCluster);
  unsetenv("SHARDPLAN_CONFIGS");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->title, "own");
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().message,
            "s:1:16: cluster.gpu: " + (folder_ / "gpus").string() +
                " holds no entries\n"
                "  1 | cluster: {gpu: own}\n"
                "    |                ^^^\n"
                "  name the folder configs/ in the environment variable SHARDPLAN_CONFIGS");
}

}  // namespace
}  // namespace shardplan
