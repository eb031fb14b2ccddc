// SPDX-License-Identifier: Apache-2.0
#include "probe/collective.h"

#include <algorithm>
#include <array>

namespace shardplan::probe {
namespace {

// Whether sizes count the total over ranks.
bool CountsAll(Collective op) {
  return op == Collective::kAllGather || op == Collective::kReduceScatter ||
         op == Collective::kAllToAll;
}

std::int64_t Granule(Collective op, int ranks, Dtype dtype) {
  return static_cast<std::int64_t>(SizeOf(dtype)) * (CountsAll(op) ? ranks : 1);
}
}  // namespace

bool Reduces(Collective op) {
  return op == Collective::kAllReduce || op == Collective::kReduceScatter ||
         op == Collective::kReduce;
}

std::vector<std::vector<int>> GroupsOf(int size, int ranks, int stride) {
  const std::int64_t block = static_cast<std::int64_t>(ranks) * stride;
  if (ranks < 1 || stride < 1 || size % block != 0) return {};
  std::vector<std::vector<int>> groups;
  for (int begin = 0; begin < size; begin += static_cast<int>(block))
    for (int first = 0; first < stride; ++first) {
      std::vector<int>& group = groups.emplace_back();
      for (int i = 0; i < ranks; ++i) group.push_back(begin + first + i * stride);
    }
  return groups;
}

std::optional<std::size_t> CountOf(Collective op, std::int64_t bytes, int ranks, Dtype dtype) {
  const std::int64_t granule = Granule(op, ranks, dtype);
  if (bytes <= 0 || bytes % granule != 0) return std::nullopt;
  return static_cast<std::size_t>(bytes / granule);
}

std::int64_t RoundSize(Collective op, std::int64_t bytes, int ranks, Dtype dtype) {
  const std::int64_t granule = Granule(op, ranks, dtype);
  return std::max<std::int64_t>(bytes / granule, 1) * granule;
}

BufferSizes SizesOf(const CollectiveCall& call, int ranks) {
  const std::size_t block = call.count * SizeOf(call.dtype);
  const std::size_t all = block * static_cast<std::size_t>(ranks);
  switch (call.op) {
    case Collective::kAllGather:
      return {block, all};
    case Collective::kReduceScatter:
      return {all, block};
    case Collective::kAllToAll:
      return {all, all};
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kSendRecv:
      break;
  }
  return {block, block};
}

std::optional<InPlace> InPlaceOf(const CollectiveCall& call, int rank, int ranks) {
  const BufferSizes sizes = SizesOf(call, ranks);
  const std::size_t block = call.count * SizeOf(call.dtype) * static_cast<std::size_t>(rank);
  switch (call.op) {
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduce:
      return InPlace{0, 0, sizes.send};
    case Collective::kAllGather:
      return InPlace{block, 0, sizes.receive};
    case Collective::kReduceScatter:
      return InPlace{0, block, sizes.send};
    case Collective::kAllToAll:
    case Collective::kSendRecv:
      break;
  }
  return std::nullopt;
}

double BusFactor(Collective op, int ranks) {
  const double n = ranks;
  if (op == Collective::kAllReduce) return 2 * (n - 1) / n;
  return CountsAll(op) ? (n - 1) / n : 1;
}

Span SentBy(const CollectiveCall& call, int rank, int ranks) {
  return {.count = SizesOf(call, ranks).send / SizeOf(call.dtype), .source = rank};
}

std::vector<Span> ExpectedBy(const CollectiveCall& call, int rank, int ranks) {
  const std::uint64_t count = call.count;
  const auto block = [count](int index) { return count * static_cast<std::uint64_t>(index); };
  std::vector<Span> spans;
  switch (call.op) {
    case Collective::kAllReduce:
      return {{0, count, kSumOfAll, 0}};
    case Collective::kReduceScatter:
      return {{0, count, kSumOfAll, block(rank)}};
    case Collective::kBroadcast:
      return {{0, count, call.root, 0}};
    case Collective::kReduce:  // only the root's result is defined
      if (rank == call.root) spans.push_back({0, count, kSumOfAll, 0});
      return spans;
    case Collective::kSendRecv:
      return {{0, count, (rank + ranks - 1) % ranks, 0}};
    case Collective::kAllGather:
      for (int from = 0; from < ranks; ++from) spans.push_back({block(from), count, from, 0});
      return spans;
    case Collective::kAllToAll:
      for (int from = 0; from < ranks; ++from)
        spans.push_back({block(from), count, from, block(rank)});
      return spans;
  }
  return spans;
}
}  // namespace shardplan::probe
