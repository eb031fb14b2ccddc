// SPDX-License-Identifier: Apache-2.0
// A mistake in the evidence is found where it is made.
#include "tests/evidence/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/evidence/judge.h"

namespace shardplan::evidence {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Files in a folder of the test's own.
class EvidenceFiles : public ::testing::Test {
 protected:
  EvidenceFiles()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~EvidenceFiles() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  // The error of a file toy.yaml with one row of these lines, less the folder's name.
  std::string ErrorOfRow(const std::string& lines) const {
    const std::string path =
        Write("toy.yaml", "group: toy\nabout: A toy.\nsource: a book\nrows:\n" + lines);
    Evidence evidence;
    const Result<void> done = ReadSteps(path, &evidence);
    return done ? "" : done.error().message.substr(folder_.string().size() + 1);
  }

  std::filesystem::path folder_;
};

constexpr char kGood[] =
    "- id: toy-1\n"
    "  confidence: high\n"
    "  spec: {model: {preset: gpt2}}\n"
    "  measured: {memory: {gib: 2, kind: reserved}, time: {step_s: 0.5}, outcome: ran}\n";

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

TEST_F(EvidenceFiles, ReadsARow) {
  Evidence evidence;
  const Result<void> done = ReadSteps(
      Write("toy.yaml", std::string("group: toy\nabout: A toy.\nsource: a book\nrows:\n") + kGood),
      &evidence);
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_EQ(evidence.rows.size(), 1u);
  const Row& row = evidence.rows[0];
  EXPECT_EQ(row.source, "a book");
  EXPECT_FALSE(row.assumed);
  EXPECT_EQ(row.memory->peak, 2_GiB);
  EXPECT_EQ(row.memory->kind, MemoryKind::kReserved);
  EXPECT_EQ(row.time->value, 0.5);
  EXPECT_EQ(row.spec.at("model").at("preset"), "gpt2");
}

TEST_F(EvidenceFiles, RefusesAnUnknownKey) {
  EXPECT_THAT(ErrorOfRow(Replaced(kGood, "confidence", "confidense")),
              StartsWith("toy.yaml:6:3: rows[0].confidense: unknown key\n"
                         "  6 |   confidense: high\n"
                         "    |   ^^^^^^^^^^\n"
                         "  did you mean confidence?"));
}

TEST_F(EvidenceFiles, RefusesAnIdOfAnotherGroup) {
  EXPECT_EQ(ErrorOfRow(Replaced(kGood, "toy-1", "top-1")),
            "toy.yaml:5:7: rows[0].id: top-1 is no id of this group\n"
            "  5 | - id: top-1\n"
            "    |       ^^^^^\n"
            "  expected toy-...");
}

TEST_F(EvidenceFiles, RefusesTwoRates) {
  const std::string error =
      ErrorOfRow(Replaced(kGood, "{step_s: 0.5}", "{step_s: 0.5, samples_per_s: 8}"));
  EXPECT_THAT(error, StartsWith("toy.yaml:8:54: rows[0].measured.time: states 2 rates\n"));
  EXPECT_THAT(error, HasSubstr("the rest goes to `also`"));
}

TEST_F(EvidenceFiles, RefusesARowWithoutOutcome) {
  EXPECT_THAT(ErrorOfRow(Replaced(kGood, ", outcome: ran", "")),
              StartsWith("toy.yaml:8:13: rows[0].measured: no outcome\n"));
}

TEST_F(EvidenceFiles, RefusesMemoryOfNoKind) {
  EXPECT_THAT(ErrorOfRow(Replaced(kGood, ", kind: reserved", "")),
              StartsWith("toy.yaml:8:22: rows[0].measured.memory: needs gib and kind\n"));
}

TEST_F(EvidenceFiles, RefusesARowThatNeitherHasASpecNorSaysWhy) {
  EXPECT_THAT(ErrorOfRow(Replaced(kGood, "  spec: {model: {preset: gpt2}}\n", "")),
              StartsWith("toy.yaml:5:3: rows[0]: neither spec nor too_little\n"));
}

// A table's line becomes a row whose spec holds the cells.
TEST_F(EvidenceFiles, FillsTheSpecOfATable) {
  Write("toy.csv", "id,layers,step_s\ntoy-1,12,0.25\n");
  const std::string path = Write("toy.yaml",
                                 "group: toy\nabout: A toy.\nsource: a book\ntable: toy.csv\n"
                                 "spec: {model: {num_hidden_layers: $layers}}\n");
  Evidence evidence;
  const Result<void> done = ReadSteps(path, &evidence);
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_EQ(evidence.rows.size(), 1u);
  EXPECT_EQ(evidence.rows[0].spec.at("model").at("num_hidden_layers"), 12);
  EXPECT_EQ(evidence.rows[0].time->value, 0.25);
}

TEST_F(EvidenceFiles, RefusesAColumnThatTheSpecDoesNotUse) {
  Write("toy.csv", "id,layers,heads,step_s\ntoy-1,12,8,0.25\n");
  const std::string path = Write("toy.yaml",
                                 "group: toy\nabout: A toy.\nsource: a book\ntable: toy.csv\n"
                                 "spec: {model: {num_hidden_layers: $layers}}\n");
  Evidence evidence;
  const Result<void> done = ReadSteps(path, &evidence);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message,
              HasSubstr("toy.csv:2:10: heads: a column that the spec of the table does not use"));
}

TEST_F(EvidenceFiles, RefusesAPointOfAnUnknownMachine) {
  Evidence evidence;
  const Result<void> done = ReadPoints(
      Write("points.csv", "machine,op,bytes,time_us,busbw_gbs\nmars,all_reduce,8,20.25,\n"),
      &evidence);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("points.csv:2:1: machine: no such machine"));
}

// What the planner refuses is an answer about a row, not an error of the evidence.
TEST(Judge, KeepsTheRefusal) {
  const Row row{.id = "toy-1",
                .spec = {{"model", {{"preset", "gpt2"}}},
                         {"cluster", {{"gpu", "h200-sxm"}, {"nodes", 1}, {"gpus_per_node", 1}}},
                         {"train", {{"framework", "hf"}, {"seq_lenght", 8}}},
                         {"plan", {{"tp", 1}}}}};
  const Judgement judgement = Judge(row);
  EXPECT_FALSE(judgement.verdict.has_value());
  EXPECT_EQ(judgement.refusal, "train.seq_lenght: unknown key");
}
}  // namespace
}  // namespace shardplan::evidence
