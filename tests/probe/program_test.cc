// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "tests/probe/run.h"

namespace shardplan::probe {
namespace {
using testing::Json;
using testing::Outcome;
using testing::RunProbe;

// Samples enough to see that it runs, few enough for any machine.
constexpr char kQuick[] = " --device=host --max-samples=3 --min-samples=1 --warm-up=1 ";

TEST(ProbeProgram, ARecordHasWhatTheContractSays) {
  const Outcome run = RunProbe(std::string("gemm --shapes 64x32x16") + kQuick);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  const std::vector<Json> records = run.Records();
  ASSERT_EQ(records.size(), 1u);
  const Json& record = records[0];
  EXPECT_EQ(record["schema"], "shardplan.record/v1");
  EXPECT_EQ(record["probe"], "gemm");
  EXPECT_EQ(record["params"], Json({{"m", 64}, {"n", 32}, {"k", 16}, {"dtype", "fp32"}}));
  EXPECT_EQ(record["metric"], "seconds");
  EXPECT_EQ(record["unit"], "s");
  EXPECT_GT(record["median"].get<double>(), 0);
  EXPECT_LE(record["p10"].get<double>(), record["median"].get<double>());
  EXPECT_GE(record["p90"].get<double>(), record["median"].get<double>());
  EXPECT_GE(record["samples"].get<int>(), 1);
  EXPECT_LE(record["samples"].get<int>(), 3);
  EXPECT_EQ(record["machine"]["device"], "host");
  EXPECT_FALSE(record["machine"]["host"].get<std::string>().empty());
  EXPECT_TRUE(record["plan"].is_null());
  EXPECT_THAT(record["at"].get<std::string>(),
              ::testing::MatchesRegex("[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+Z"));
}

TEST(ProbeProgram, OutOfMemoryIsARecordAndTheNextPointIsMeasured) {
  const Outcome run = RunProbe(std::string("gemm --shapes 9000000x9000000x8,8x8x8") + kQuick);
  ASSERT_EQ(run.code, 0) << run.err;
  const std::vector<Json> records = run.Records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["metric"], "failed_allocation");
  EXPECT_EQ(records[0]["median"].get<double>(), 9e6 * 9e6 * 4);
  EXPECT_GT(records[0]["memory"]["total"].get<double>(),
            records[0]["memory"]["free"].get<double>());
  EXPECT_THAT(records[0]["error"].get<std::string>(), ::testing::HasSubstr("out of host memory"));
  EXPECT_EQ(records[1]["metric"], "seconds");
}

TEST(ProbeProgram, ReadsPointsOfAFileAndGoesOnPastWhatTheDeviceLacks) {
  const std::string path = testing::TempPath("points");
  std::ofstream(path) << R"({"probe":"gemm","params":{"m":8,"n":8,"k":8,"dtype":"int8"}})"
                      << "\n"
                      << R"({"probe":"collectives","params":{"op":"all_reduce","ranks":1,)"
                      << R"("bytes":4096,"dtype":"fp32"}})"
                      << "\n";
  const Outcome run = RunProbe("points '" + path + "'" + kQuick);
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.err, ::testing::HasSubstr("the host device has no matrix product in int8"));
  ASSERT_EQ(run.Records().size(), 1u);
  EXPECT_EQ(run.Records()[0]["params"],
            Json({{"op", "all_reduce"}, {"ranks", 1}, {"bytes", 4096}, {"dtype", "fp32"}}));
  std::ofstream(path) << R"({"probe":"gemm"})";
  const Outcome bad = RunProbe("points '" + path + "'");
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, ::testing::HasSubstr(path + ":1: expected {\"probe\": NAME"));
  unlink(path.c_str());
}

TEST(ProbeProgram, DisksAreReadAndWrittenPastThePageCache) {
  const Outcome run = RunProbe(std::string("disk --sizes 4M --blocks 1M") + kQuick);
  if (run.code == 1) {  // some file systems have no such files
    EXPECT_THAT(run.err, ::testing::HasSubstr("takes no file past the page cache"));
    GTEST_SKIP() << run.err;
  }
  const auto records = run.Records();
  ASSERT_EQ(records.size(), 2u) << run.err;
  for (const Json& record : records)
    EXPECT_DOUBLE_EQ(record["bytes_per_second"].get<double>() * record["median"].get<double>(),
                     4 << 20);
  EXPECT_EQ(RunProbe("disk --sizes 4M --blocks 1000").code, 2);
}

TEST(ProbeProgram, BadUsageSaysWhatWorks) {
  const Outcome probe = RunProbe("gem");
  EXPECT_EQ(probe.code, 2);
  EXPECT_THAT(probe.err, ::testing::HasSubstr("there is no probe 'gem': did you mean gemm?"));
  const Outcome shape = RunProbe("gemm --shapes 64x64");
  EXPECT_EQ(shape.code, 2);
  EXPECT_THAT(shape.err, ::testing::HasSubstr("'64x64' is not a shape: it takes 3 whole numbers"));
  const Outcome dtype = RunProbe("gemm --shapes 64x64x64 --dtypes fp33");
  EXPECT_EQ(dtype.code, 2);
  EXPECT_THAT(dtype.err, ::testing::HasSubstr("there is no 'fp33': did you mean fp32?"));
  EXPECT_EQ(RunProbe("").code, 2);
  EXPECT_EQ(RunProbe("--help").code, 0);
}

TEST(ProbeProgram, WhatADeviceLacksIsNamed) {
  const Outcome run = RunProbe(std::string("gemm --shapes 64x64x64 --dtypes bf16") + kQuick);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, ::testing::HasSubstr("the host device has no matrix product in bf16"));
}
}  // namespace
}  // namespace shardplan::probe
