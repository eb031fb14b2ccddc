// SPDX-License-Identifier: Apache-2.0
// What is written by hand and what is generated meet in the page.
#include "tests/evidence/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace shardplan::evidence {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Evidence Toy() {
  Evidence evidence{.groups = {{.name = "toy", .about = "A toy."}}};
  for (const char* id : {"toy-a-1", "toy-a-2", "toy-b"})
    evidence.rows.push_back(
        {.id = id, .group = "toy", .url = "https://toy", .memory = MeasuredMemory{10_GiB}});
  return evidence;
}

Judged With(double a1, double a2, double b) {
  Judged judged;
  for (const double error : {a1, a2, b})
    judged.rows.push_back({.verdict = Verdict::kFits,
                           .memory = Comparison{10 * (1 + error), 10, error, {}},
                           .capacity = 80_GiB});
  return judged;
}

Result<Reasons> ReasonsOf(const std::string& text, const Evidence& evidence) {
  const std::string path = ::testing::TempDir() + "page_reasons.yaml";
  std::ofstream(path) << text;
  return Reasons::Read(path, evidence);
}

TEST(Reasons, TheLongestBeginningForThisSignCounts) {
  const Result<Reasons> reasons = ReasonsOf(
      "reasons:\n"
      "- {rows: toy-, why: all}\n"
      "- {rows: toy-a-, figure: memory, predicted: low, why: some}\n"
      "- {rows: toy-a-2, figure: time, why: one}\n",
      Toy());
  ASSERT_TRUE(reasons) << reasons.error().message;
  EXPECT_EQ(reasons->Find("toy-b", Figure::kMemory, 0.1)->text, "all");
  EXPECT_EQ(reasons->Find("toy-a-2", Figure::kMemory, -0.1)->text, "some");
  EXPECT_EQ(reasons->Find("toy-a-2", Figure::kMemory, 0.1)->text, "all");
  EXPECT_EQ(reasons->Find("toy-a-2", Figure::kTime, 0.1)->text, "one");
  EXPECT_EQ(reasons->Find("other", Figure::kTime, 0.1), nullptr);
}

TEST(Reasons, OfNoRowIsRefused) {
  const Result<Reasons> reasons =
      ReasonsOf("reasons:\n- {rows: toy-a, why: x}\n- {rows: toy-c, why: y}\n", Toy());
  ASSERT_FALSE(reasons);
  EXPECT_THAT(reasons.error().message,
              HasSubstr("page_reasons.yaml:3:3: reasons[1]: no id begins with toy-c"));
}

// Small misses are left out, the others stand with their reason, or as unknown.
TEST(Page, ListsTheWorstRowsWithTheirReasons) {
  const Evidence evidence = Toy();
  const Result<Reasons> reasons =
      ReasonsOf("reasons:\n- {rows: toy-a-1, why: an odd kernel}\n", evidence);
  ASSERT_TRUE(reasons) << reasons.error().message;
  const std::string text = WorstRows(evidence, With(0.1, -0.25, 0.01), *reasons);
  EXPECT_THAT(text, HasSubstr("| [`toy-a-2`](https://toy) | 7.5 GiB allocated | 10 | -25.0% | "
                              "unknown |\n"
                              "| [`toy-a-1`](https://toy) | 11 GiB allocated | 10 | +10.0% | "
                              "an odd kernel |\n"));
  EXPECT_THAT(text, Not(HasSubstr("toy-b")));
}

TEST(Page, ListsContradictionsWhateverTheirError) {
  const Evidence evidence = Toy();
  const Result<Reasons> reasons = ReasonsOf(
      "reasons:\n- {rows: toy-b, figure: memory, why: 1 + 1 = 3, contradiction: true}\n", evidence);
  ASSERT_TRUE(reasons) << reasons.error().message;
  EXPECT_THAT(WorstRows(evidence, With(0, 0, 0), *reasons),
              HasSubstr("| [`toy-b`](https://toy) | 10 GiB allocated | 10 | 0.0% | 1 + 1 = 3 |"));
}

TEST(Page, PutsTheSummaryBetweenItsLines) {
  const std::string readme =
      std::string("before\n") + kSummaryBegin + "old\n" + kSummaryEnd + "after";
  EXPECT_EQ(*WithSummary(readme, "new\n"),
            std::string("before\n") + kSummaryBegin + "new\n" + kSummaryEnd + "after");
  EXPECT_FALSE(WithSummary("before\nafter", "new\n"));
}
}  // namespace
}  // namespace shardplan::evidence
