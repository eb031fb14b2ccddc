// SPDX-License-Identifier: Apache-2.0
#include "planner/report/collectives_report.h"

#include <gtest/gtest.h>

#include "tests/support/cases.h"

namespace shardplan {
namespace {
using namespace shardplan::literals;

const std::vector<CollectiveAnswer>& TwoAnswers() {
  static const std::vector<CollectiveAnswer> answers{
      {Collective::kAllReduce, {8, 1}, 1_GiB, {{0.0048}, "NVLS", "Simple", 16}},
      {Collective::kAllReduce, {8, 1}, {1000}, {{2e-5}, "Ring", "LL", 0}}};
  return answers;
}

TEST(CollectivesReport, ShowsBandwidthsAsNcclTestsDoes) {
  EXPECT_EQ(CollectivesReport(testing::DgxH100(1), TwoAnswers(), {}),
            R"(all_reduce, 8 ranks of one node, h100-sxm-80gb, NCCL 2.28
    size     time      algbw      busbw  algorithm  protocol  channels
   1 GiB  4.80 ms   224 GB/s   391 GB/s  NVLS       Simple          16
 1,000 B  20.0 us  50.0 MB/s  87.5 MB/s  Ring       LL
numbers: predicted from data sheets; cluster.profile puts measured ones in their place
)");
}

TEST(CollectivesReport, SaysHowTheGroupLies) {
  const Machine machine = testing::DgxH100(4);
  const auto first_line = [&](Group group) {
    const std::string text =
        CollectivesReport(machine, {{Collective::kBroadcast, group, 1_MiB, {}}}, {});
    return text.substr(0, text.find(','));
  };
  const auto layout = [&](Group group) {
    const std::string text =
        CollectivesReport(machine, {{Collective::kBroadcast, group, 1_MiB, {}}}, {});
    return text.substr(0, text.find(", h100"));
  };
  EXPECT_EQ(first_line({8, 1}), "broadcast");
  EXPECT_EQ(layout({8, 1}), "broadcast, 8 ranks of one node");
  EXPECT_EQ(layout({16, 1}), "broadcast, 16 ranks on 2 nodes");
  EXPECT_EQ(layout({4, 8}), "broadcast, 4 ranks, 8 ranks apart");
}

TEST(CollectivesJson, EchoesBytesAndHasTheKeysOfTheContract) {
  const Json json = CollectivesJson(testing::DgxH100(1), TwoAnswers());
  EXPECT_EQ(json["schema"], "shardplan/v1");
  ASSERT_EQ(json["collectives"].size(), 2u);
  const Json& row = json["collectives"][0];
  EXPECT_EQ(row["op"], "all_reduce");
  EXPECT_EQ(row["ranks"], 8);
  EXPECT_EQ(row["bytes"], 1073741824);
  EXPECT_EQ(row["seconds"], 0.0048);
  EXPECT_DOUBLE_EQ(row["algbw"].get<double>(), 1073741824 / 0.0048);
  EXPECT_DOUBLE_EQ(row["busbw"].get<double>(), 1073741824 / 0.0048 * 2 * 7 / 8);
  EXPECT_EQ(row["algorithm"], "NVLS");
  EXPECT_EQ(row["protocol"], "Simple");
  EXPECT_EQ(row["channels"], 16);
  EXPECT_EQ(json["collectives"][1]["bytes"], 1000);
}

// nccl-tests' PERFORMANCE.md: what each operation moves over the wires for each byte of its size.
TEST(BusBandwidth, HasTheFactorOfItsOperation) {
  const auto factor = [](Collective op, int ranks) {
    const CollectiveAnswer answer{op, {ranks, 1}, 1_GiB, {{1}, "", "", 0}};
    return BusBandwidth(answer) / AlgorithmBandwidth(answer);
  };
  EXPECT_DOUBLE_EQ(factor(Collective::kAllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(factor(Collective::kAllGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(factor(Collective::kReduceScatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(factor(Collective::kAllToAll, 4), 0.75);
  EXPECT_DOUBLE_EQ(factor(Collective::kBroadcast, 4), 1);
  EXPECT_DOUBLE_EQ(factor(Collective::kReduce, 4), 1);
  EXPECT_DOUBLE_EQ(factor(Collective::kSendRecv, 2), 1);
}

TEST(BusBandwidth, OfOneRankIsZeroAndNotInfinite) {
  const CollectiveAnswer answer{Collective::kAllReduce, {1, 1}, 1_GiB, {}};
  EXPECT_EQ(AlgorithmBandwidth(answer).value, 0);
  EXPECT_EQ(BusBandwidth(answer).value, 0);
}
}  // namespace
}  // namespace shardplan
