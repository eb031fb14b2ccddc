// SPDX-License-Identifier: Apache-2.0
#include "tests/evidence/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace shardplan::evidence {
namespace {

using ::testing::HasSubstr;

// Three measured rows of one group, and what a planner says of them: these errors of memory and
// time, and these verdicts.
struct Toy {
  Evidence evidence{.groups = {{.name = "toy"}}};
  Judged judged;

  Toy() {
    for (const char* id : {"toy-a", "toy-b", "toy-c"}) {
      evidence.rows.push_back({.id = id, .group = "toy", .memory = MeasuredMemory{.peak = 10_GiB}});
      judged.rows.push_back({.verdict = Verdict::kFits,
                             .memory = Comparison{.error = 0.02},
                             .time = Comparison{.error = -0.1},
                             .capacity = 80_GiB});
    }
  }
};

TEST(Record, OfTheSameAnswersIsNotWorse) {
  const Toy toy;
  EXPECT_EQ(Worsened(toy.evidence, toy.judged, RecordOf(toy.evidence, toy.judged)), "");
}

TEST(Record, NamesTheGroupAndTheRowsThatMoved) {
  const Toy before;
  Toy now;
  now.judged.rows[0].memory->error = -0.05;
  now.judged.rows[2].memory->error = 0.03;
  EXPECT_EQ(Worsened(now.evidence, now.judged, RecordOf(before.evidence, before.judged)),
            "toy memory: median error 2.00% recorded, 3.00% now\n"
            "    toy-a: +2.00% recorded, -5.00% now\n"
            "    toy-c: +2.00% recorded, +3.00% now\n");
}

TEST(Record, LetsFiguresGetBetter) {
  const Toy before;
  Toy now;
  for (Judgement& judgement : now.judged.rows) judgement.time->error = 0.01;
  EXPECT_EQ(Worsened(now.evidence, now.judged, RecordOf(before.evidence, before.judged)), "");
}

TEST(Record, CountsWrongVerdictsAndLostAnswers) {
  const Toy before;
  Toy now;
  now.judged.rows[0].verdict = Verdict::kOom;
  now.judged.rows[1].verdict = Verdict::kTight;
  now.judged.rows[2] = {.refusal = "no"};
  EXPECT_EQ(Worsened(now.evidence, now.judged, RecordOf(before.evidence, before.judged)),
            "toy rows without an answer: 0 recorded, 1 now\n"
            "    toy-c: fits recorded, no answer now\n"
            "toy rows that ran, called oom: 0 recorded, 1 now\n"
            "    toy-a: fits recorded, oom now\n"
            "toy roomy rows called tight: 0 recorded, 1 now\n"
            "    toy-b: fits recorded, tight now\n");
}

TEST(Record, ReadsWhatItPrints) {
  const Toy toy;
  const Record record = RecordOf(toy.evidence, toy.judged);
  const std::string path = ::testing::TempDir() + "record_reads_what_it_prints.csv";
  std::ofstream(path) << PrintRecord(record);
  const Result<Record> read = ReadRecord(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(PrintRecord(*read), PrintRecord(record));
}

// Git's union merge keeps the lines of both sides.
TEST(Record, RefusesBothSidesOfAMerge) {
  const std::string path = ::testing::TempDir() + "record_both_sides.csv";
  std::ofstream(path) << "id,memory,time,verdict\ntoy-a,0.1,,fits\ntoy-a,0.2,,fits\n";
  const Result<Record> read = ReadRecord(path);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr(":3:1: id: the id stands here twice"));
}
}  // namespace
}  // namespace shardplan::evidence
