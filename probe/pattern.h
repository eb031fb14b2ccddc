// SPDX-License-Identifier: Apache-2.0
// The data that collectives carry: whole numbers by hash, so small that every sum is exact.
//
// Compiled for hosts and GPUs alike. Element i of rank r's buffer is Value(r, i); a result is made
// of spans, each a copy of one rank's elements or the sum over all ranks.
#pragma once
#include <cstdint>

#ifdef __CUDACC__
#define SHARDPLAN_HOST_DEVICE __host__ __device__
#else
#define SHARDPLAN_HOST_DEVICE
#endif

namespace shardplan::probe {

struct Pattern {
  std::uint64_t seed = 0;
  std::int64_t exact = 1;  // LargestExact of the number format
  std::int64_t ranks = 1;

  // From 0 to exact / ranks, or to 1; where even that could sum up to too much, 0 on later ranks.
  SHARDPLAN_HOST_DEVICE std::int64_t Value(std::int64_t rank, std::uint64_t index) const {
    const std::int64_t span = exact / ranks;
    if (span < 1 && rank >= exact) return 0;
    // SplitMix64's finalizer.
    std::uint64_t x = seed + 0x9e3779b97f4a7c15u * (index + 1) +
                      0xd1b54a32d192ed03u * static_cast<std::uint64_t>(rank);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return static_cast<std::int64_t>(x % static_cast<std::uint64_t>(span < 1 ? 2 : span + 1));
  }
  SHARDPLAN_HOST_DEVICE std::int64_t Sum(std::uint64_t index) const {
    std::int64_t sum = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank) sum += Value(rank, index);
    return sum;
  }
};

inline constexpr int kSumOfAll = -1;

// `count` elements from `begin` on hold those of rank `source` (or the sum of all) from `offset`
// on.
struct Span {
  std::uint64_t begin = 0, count = 0;
  int source = kSumOfAll;
  std::uint64_t offset = 0;
};

SHARDPLAN_HOST_DEVICE inline std::int64_t ElementOf(const Pattern& pattern, const Span& span,
                                                    std::uint64_t index) {
  return span.source == kSumOfAll ? pattern.Sum(span.offset + index)
                                  : pattern.Value(span.source, span.offset + index);
}
}  // namespace shardplan::probe
