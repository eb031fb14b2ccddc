// SPDX-License-Identifier: Apache-2.0
#include "probe/collective.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace shardplan::probe {
namespace {

constexpr std::array kOps{Collective::kAllReduce,     Collective::kAllGather,
                          Collective::kReduceScatter, Collective::kBroadcast,
                          Collective::kReduce,        Collective::kAllToAll,
                          Collective::kSendRecv};

TEST(Groups, TileTheWorld) {
  EXPECT_EQ(GroupsOf(4, 2, 1), (std::vector<std::vector<int>>{{0, 1}, {2, 3}}));
  EXPECT_EQ(GroupsOf(4, 2, 2), (std::vector<std::vector<int>>{{0, 2}, {1, 3}}));
  EXPECT_TRUE(GroupsOf(6, 4, 1).empty());
  for (const int size : {1, 8, 12, 64})
    for (int ranks = 1; ranks <= size; ++ranks)
      for (int stride = 1; ranks * stride <= size; ++stride) {
        std::multiset<int> members;
        for (const auto& group : GroupsOf(size, ranks, stride)) {
          ASSERT_EQ(static_cast<int>(group.size()), ranks);
          for (std::size_t i = 1; i < group.size(); ++i) ASSERT_EQ(group[i] - group[i - 1], stride);
          members.insert(group.begin(), group.end());
        }
        if (size % (ranks * stride) != 0) {
          EXPECT_TRUE(members.empty());
          continue;
        }
        std::vector<int> all(static_cast<std::size_t>(size));
        std::iota(all.begin(), all.end(), 0);
        EXPECT_TRUE(std::equal(members.begin(), members.end(), all.begin(), all.end()))
            << size << ' ' << ranks << ' ' << stride;
      }
}

TEST(Sizes, AreThoseOfNcclTests) {
  EXPECT_EQ(CountOf(Collective::kAllReduce, 1024, 8, Dtype::kFp32), 256u);
  EXPECT_EQ(CountOf(Collective::kAllGather, 1024, 8, Dtype::kFp32), 32u);
  EXPECT_FALSE(CountOf(Collective::kAllGather, 1000, 8, Dtype::kFp64));
  EXPECT_EQ(RoundSize(Collective::kAllGather, 1000, 8, Dtype::kFp64), 960);
  EXPECT_EQ(RoundSize(Collective::kAllToAll, 1, 8, Dtype::kFp32), 32) << "one element a rank";
  EXPECT_DOUBLE_EQ(BusFactor(Collective::kAllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(BusFactor(Collective::kReduceScatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(BusFactor(Collective::kBroadcast, 4), 1);
}

TEST(Sizes, RoundedOnesCount) {
  for (const Collective op : kOps)
    for (const int ranks : {1, 2, 3, 8})
      for (const std::int64_t bytes : {1, 7, 1000, 4096, 1048575}) {
        const std::int64_t rounded = RoundSize(op, bytes, ranks, Dtype::kFp32);
        EXPECT_TRUE(CountOf(op, rounded, ranks, Dtype::kFp32)) << Name(op) << ' ' << bytes;
      }
}

// A send buffer that lies within the receive buffer is just the part that this rank contributes.
TEST(InPlaceForm, PutsTheOwnBlockWhereItBelongs) {
  for (const int ranks : {2, 5})
    for (int rank = 0; rank < ranks; ++rank)
      for (const Collective op : kOps) {
        const CollectiveCall call{.op = op, .dtype = Dtype::kInt32, .count = 6};
        const auto place = InPlaceOf(call, rank, ranks);
        ASSERT_EQ(place.has_value(), op != Collective::kAllToAll && op != Collective::kSendRecv);
        if (!place) continue;
        const BufferSizes sizes = SizesOf(call, ranks);
        EXPECT_LE(place->send + sizes.send, place->bytes) << Name(op);
        EXPECT_LE(place->receive + sizes.receive, place->bytes) << Name(op);
      }
}

TEST(Expected, CoversTheReceiveBufferOnce) {
  for (const Collective op : kOps)
    for (const int ranks : {1, 2, 5})
      for (int rank = 0; rank < ranks; ++rank) {
        const CollectiveCall call{.op = op, .dtype = Dtype::kFp32, .count = 10};
        const auto spans = ExpectedBy(call, rank, ranks);
        std::uint64_t covered = 0;
        for (const Span& span : spans) {
          EXPECT_EQ(span.begin, covered) << Name(op);
          covered += span.count;
        }
        const bool undefined = op == Collective::kReduce && rank != call.root;
        EXPECT_EQ(covered, undefined ? 0 : SizesOf(call, ranks).receive / 4) << Name(op);
      }
}

// Sums must be exact in every format, or a right result would count as wrong.
TEST(PatternValues, SumsAreExactInEveryFormat) {
  for (const std::string& name : DtypeNames())
    for (const int ranks : {1, 2, 8, 17, 1000}) {
      const Pattern pattern{7, LargestExact(*DtypeOf(name)), ranks};
      for (std::uint64_t i = 0; i < 200; ++i)
        ASSERT_LE(pattern.Sum(i), pattern.exact) << name << ' ' << ranks;
    }
}

// Elements that repeat would hide blocks that were swapped.
TEST(PatternValues, DifferFromRankToRankAndPlaceToPlace) {
  const Pattern pattern{7, LargestExact(Dtype::kFp32), 4};
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i)
    same += (pattern.Value(0, i) == pattern.Value(1, i)) +
            (pattern.Value(0, i) == pattern.Value(0, i + 1));
  EXPECT_LT(same, 5);
}
}  // namespace
}  // namespace shardplan::probe
