// SPDX-License-Identifier: Apache-2.0
// Collectives over real processes, on the host device.
#include <gmock/gmock.h>

#include "tests/probe/ranks.h"

namespace shardplan::probe {
namespace {
using ::testing::HasSubstr;
using testing::Json;
using testing::Outcome;
using testing::Ranks;
using testing::Words;

constexpr char kQuick[] =
    " --device=host --max-samples=1 --min-samples=1 --warm-up=1 --deadline=50";
constexpr char kEveryOp[] =
    "all_reduce,all_gather,reduce_scatter,broadcast,reduce,all_to_all,send_recv";

std::vector<Json> RecordsOf(int size, const std::string& arguments) {
  Ranks ranks(size, Words("collectives " + arguments + kQuick));
  std::vector<Json> records;
  for (int rank = size - 1; rank >= 0; --rank) {
    const Outcome outcome = ranks.Wait(rank);
    EXPECT_EQ(outcome.code, 0) << "rank " << rank << ": " << outcome.err;
    if (rank == 0)
      records = outcome.Records();
    else
      EXPECT_EQ(outcome.out, "") << "only rank 0 prints";
  }
  return records;
}

TEST(HostCollectives, EveryOperationIsRightInBothPlacesAndEveryFormat) {
  const auto records = RecordsOf(
      4, std::string("--ops ") + kEveryOp +
             " --sizes 64,12K --dtypes fp32,fp16,bf16,fp8,int32,int64,uint8,fp64 --root 2");
  EXPECT_EQ(records.size(), (7u + 5) * 2 * 8) << "5 of 7 operations have a form in place";
  for (const Json& record : records) EXPECT_EQ(record["check"], "ok") << record.dump();
}

TEST(HostCollectives, OddNumbersOfRanksAndSizes) {
  for (const Json& record :
       RecordsOf(3, std::string("--ops ") + kEveryOp + " --sizes 12,99996 --dtypes int32"))
    EXPECT_EQ(record["check"], "ok") << record.dump();
}

TEST(HostCollectives, OneRankAlone) {
  const auto records = RecordsOf(1, std::string("--ops ") + kEveryOp + " --sizes 4K");
  EXPECT_EQ(records.size(), 12u);
  for (const Json& record : records) EXPECT_EQ(record["check"], "ok") << record.dump();
}

// Strided pairs run beside each other; with --first-group the others wait; split ones are the same
// groups made another way.
TEST(HostCollectives, GroupsOfAnyShape) {
  for (const char* shape : {"--ranks 2", "--ranks 2 --stride 2", "--ranks 2 --first-group",
                            "--ranks 2 --stride 2 --split yes"}) {
    const auto records =
        RecordsOf(4, std::string("--ops all_reduce,all_to_all --sizes 4K,8K ") + shape);
    EXPECT_EQ(records.size(), 6u) << shape;
    for (const Json& record : records) {
      EXPECT_EQ(record["check"], "ok") << shape << record.dump();
      EXPECT_EQ(record["params"]["ranks"], 2);
    }
  }
}

TEST(HostCollectives, BandwidthsAreThoseOfNcclTests) {
  const Json record = RecordsOf(4, "--ops all_gather --sizes 64K --place out").at(0);
  const double seconds = record["median"];
  EXPECT_EQ(record["params"]["bytes"], 65536);
  EXPECT_EQ(record["count"], 4096) << "elements of one rank's block";
  EXPECT_DOUBLE_EQ(record["algbw"].get<double>(), 65536 / seconds);
  EXPECT_DOUBLE_EQ(record["busbw"].get<double>(), 65536 / seconds * 3 / 4);
}

TEST(HostCollectives, SizesByRange) {
  const auto sizes = [](const std::string& range) {
    std::vector<std::int64_t> found;
    for (const Json& record : RecordsOf(1, "--place out --no-check " + range)) {
      found.push_back(record["params"]["bytes"]);
      EXPECT_EQ(record["check"], "none");
    }
    return found;
  };
  EXPECT_THAT(sizes("-b 1K -e 8K -f 2"), ::testing::ElementsAre(1024, 2048, 4096, 8192));
  EXPECT_THAT(sizes("-b 1K -e 3K -i 1K"), ::testing::ElementsAre(1024, 2048, 3072));
  EXPECT_THAT(sizes("-b 4K -e 4K"), ::testing::ElementsAre(4096));
}

TEST(HostCollectives, WhatCannotBeIsRefused) {
  const auto error = [](int size, const std::string& arguments) {
    Ranks ranks(size, Words("collectives --sizes 4K " + arguments + kQuick));
    const Outcome outcome = ranks.Wait(0);
    EXPECT_NE(outcome.code, 0);
    for (int rank = 1; rank < size; ++rank) EXPECT_NE(ranks.Wait(rank).code, 0);
    return outcome.err;
  };
  EXPECT_THAT(error(4, "--ranks 3"), HasSubstr("groups of 3 ranks, 1 apart, do not tile 4 ranks"));
  EXPECT_THAT(error(1, "--root 1"), HasSubstr("root 1 is not below ranks, 1"));
  EXPECT_THAT(error(1, "--graph"), HasSubstr("the host device has no graphs"));
  EXPECT_THAT(error(1, "--registered"), HasSubstr("the host device has no buffers to register"));
  EXPECT_THAT(error(1, "--ops all_redcue"), HasSubstr("did you mean all_reduce"));
}
}  // namespace
}  // namespace shardplan::probe
