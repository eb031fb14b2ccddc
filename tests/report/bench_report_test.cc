// SPDX-License-Identifier: Apache-2.0
#include "planner/report/bench_report.h"

#include <gtest/gtest.h>

#include "tests/report/fixtures.h"

namespace shardplan {
namespace {
using testing::ExampleEvaluation;

SearchResult OnePlan() {
  SearchResult result;
  result.plans = {{1, 1, ExampleEvaluation()}};
  result.covered = 142080;
  result.evaluated = 31440;
  result.threads = 2;
  result.seconds = 0.0125;
  return result;
}

TEST(BenchReport, ShowsRatesAndSignatures) {
  SearchResult none;
  none.covered = 48216;
  none.seconds = 1.5;
  EXPECT_EQ(
      BenchReport({{"spec-a", 16, OnePlan()}, {"spec-b", 8, none}}, {}),
      R"( spec    GPUs     time  covered  covered/s  evaluated  evaluated/s  threads  best step         signature
 spec-a    16  12.5 ms  142,080   11.4 M/s     31,440     2.52 M/s        2     2.00 s  cd25af586cd1eb1b
 spec-b     8   1.50 s   48,216   32.1 K/s          0          0/s        1  none fits  cbf29ce484222325
)");
}

TEST(BenchReport, JsonHasThemToo) {
  const Json row = BenchJson({{"spec-a", 16, OnePlan()}})["bench"][0];
  EXPECT_EQ(row["spec"], "spec-a");
  EXPECT_EQ(row["covered_per_second"], 142080 / 0.0125);
  EXPECT_EQ(row["best_step_seconds"], 2.0);
  EXPECT_EQ(row["signature"].get<std::string>().size(), 16u);
}

// FNV-1a of nothing is its offset basis.
TEST(Signature, ChangesWithPlansOrderAndTheLastBitOfATime) {
  EXPECT_EQ(Signature({}), 0xcbf29ce484222325u);
  Evaluation a = ExampleEvaluation(), b = a;
  b.plan.sharding.tp = 8;
  const std::uint64_t ab = Signature({{1, 1, a}, {2, 2, b}});
  EXPECT_EQ(ab, Signature({{1, 1, a}, {2, 1, b}}));
  EXPECT_NE(ab, Signature({{1, 1, b}, {2, 2, a}}));
  EXPECT_NE(ab, Signature({{1, 1, a}}));
  b.step.time[0].value += 0x1p-51;  // the last bit of the 2 s that the step takes
  EXPECT_NE(ab, Signature({{1, 1, a}, {2, 2, b}}));
}
}  // namespace
}  // namespace shardplan
