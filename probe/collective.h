// SPDX-License-Identifier: Apache-2.0
// Shapes of collectives: groups, sizes and bandwidths as nccl-tests has them, and what results must
// hold. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "probe/communicator.h"
#include "probe/pattern.h"

namespace shardplan::probe {

// Groups of `ranks` ranks, `stride` apart, that tile a world of `size`: {0, s, 2s, ...}, {1, s + 1,
// ...}, ... Empty where they do not tile it.
std::vector<std::vector<int>> GroupsOf(int size, int ranks, int stride);

// Elements of CollectiveCall::count for `bytes`, which nccl-tests counts as one rank's buffer or,
// for all_gather, reduce_scatter and all_to_all, as the total over ranks. Unset where `bytes` does
// not divide.
std::optional<std::size_t> CountOf(Collective op, std::int64_t bytes, int ranks, Dtype dtype);
// The nearest size below that divides, at least one element a rank.
std::int64_t RoundSize(Collective op, std::int64_t bytes, int ranks, Dtype dtype);

// Bytes of the buffers on either side of one rank.
struct BufferSizes {
  std::size_t send = 0, receive = 0;
};
BufferSizes SizesOf(const CollectiveCall& call, int ranks);

// Where the operation is defined in place: offsets of send and receive in one buffer.
struct InPlace {
  std::size_t send = 0, receive = 0, bytes = 0;
};
std::optional<InPlace> InPlaceOf(const CollectiveCall& call, int rank, int ranks);

// nccl-tests' busbw over algbw.
double BusFactor(Collective op, int ranks);

// What `rank` puts into its send buffer, and what it must find in its receive buffer.
Span SentBy(const CollectiveCall& call, int rank, int ranks);
std::vector<Span> ExpectedBy(const CollectiveCall& call, int rank, int ranks);
}  // namespace shardplan::probe
