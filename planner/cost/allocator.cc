// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/allocator.h"

#include <algorithm>

#include "planner/base/check.h"

namespace shardplan {
namespace {

// Names and values of c10/core/AllocatorConfig.h.
constexpr std::uint64_t kMinBlockSize = 512;
constexpr std::uint64_t kSmallSize = 1u << 20;       // the largest request of the small pool
constexpr std::uint64_t kSmallBuffer = 2u << 20;     // its segments
constexpr std::uint64_t kMinLargeAlloc = 10u << 20;  // smaller requests share segments of
constexpr std::uint64_t kLargeBuffer = 20u << 20;    // this size
constexpr std::uint64_t kRoundLarge = 2u << 20;

constexpr int kLarge = 0, kSmall = 1;  // size classes

// Address space of an expandable segment: more than any device has.
constexpr std::uint64_t kAddressSpace = (1ull << 20) * kLargeBuffer;

std::uint64_t RoundUp(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

std::uint64_t SegmentSize(std::uint64_t size) {
  if (size <= kSmallSize) return kSmallBuffer;
  return size < kMinLargeAlloc ? kLargeBuffer : RoundUp(size, kRoundLarge);
}
}  // namespace

std::optional<CachingAllocator::Block> CachingAllocator::Allocate(std::uint64_t bytes, int stream) {
  SHARDPLAN_CHECK(bytes > 0);
  const std::uint64_t size = RoundUp(bytes, kMinBlockSize);
  const int size_class = size <= kSmallSize ? kSmall : kLarge;
  Index piece = BestFit(size, stream, size_class);
  if (piece == kNone) piece = FromDevice(size, stream, size_class);
  if (piece == kNone && options_.max_split_size != AllocatorOptions::kUnlimited) {
    ReleaseOversize(size, stream, size_class);
    piece = FromDevice(size, stream, size_class);
  }
  if (piece == kNone) {
    ++retries_;
    EmptyCache();
    piece = FromDevice(size, stream, size_class);
  }
  if (piece == kNone) return std::nullopt;
  const std::uint64_t rest = pieces_[piece].size - size;
  const bool splits = size_class == kSmall || options_.expandable_segments
                          ? rest >= kMinBlockSize
                          : size < options_.max_split_size && rest > kSmallSize;
  if (splits) Insert(Cut(piece, size));
  Occupy(piece, true);
  return piece;
}

void CachingAllocator::Free(Block block) {
  SHARDPLAN_CHECK(pieces_[block].used);
  Occupy(block, false);
  MergeNeighbours(block);
  Insert(block);
}

void CachingAllocator::EmptyCache() {
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    const std::vector<Entry> cached = pools_[pool].free;
    for (const Entry& entry : cached) {
      const Piece& piece = pieces_[entry.piece];
      if (SegmentOf(entry.piece).expandable)
        Unmap(entry.piece);
      else if (piece.previous == kNone && piece.next == kNone)
        ReleaseSegment(entry.piece);
    }
  }
}

CachingAllocator::Pool& CachingAllocator::PoolOf(int stream, int size_class) {
  const std::size_t index = static_cast<std::size_t>(2 * stream + size_class);
  if (index >= pools_.size()) pools_.resize(index + 1);
  return pools_[index];
}

std::vector<CachingAllocator::Entry>& CachingAllocator::ListOf(Index piece) {
  const Segment& segment = SegmentOf(piece);
  Pool& pool = PoolOf(segment.stream, segment.size_class);
  return pieces_[piece].mapped ? pool.free : pool.unmapped;
}

std::uint32_t CachingAllocator::UnitsOf(Index piece) const {
  return pieces_[piece].mapped ? static_cast<std::uint32_t>(pieces_[piece].size / kMinBlockSize)
                               : 0;
}

std::vector<CachingAllocator::Entry>::iterator CachingAllocator::Find(std::vector<Entry>& list,
                                                                      std::uint32_t units,
                                                                      std::uint64_t address) {
  return std::partition_point(list.begin(), list.end(), [&](const Entry& entry) {
    return entry.units != units ? entry.units < units : pieces_[entry.piece].address < address;
  });
}

void CachingAllocator::Insert(Index piece) {
  std::vector<Entry>& list = ListOf(piece);
  const std::uint32_t units = UnitsOf(piece);
  list.insert(Find(list, units, pieces_[piece].address), {units, piece});
}

void CachingAllocator::Remove(Index piece) {
  std::vector<Entry>& list = ListOf(piece);
  list.erase(Find(list, UnitsOf(piece), pieces_[piece].address));
}

CachingAllocator::Index CachingAllocator::NewPiece(const Piece& piece) {
  if (spare_.empty()) {
    pieces_.push_back(piece);
    return static_cast<Index>(pieces_.size() - 1);
  }
  const Index index = spare_.back();
  spare_.pop_back();
  pieces_[index] = piece;
  return index;
}

CachingAllocator::Index CachingAllocator::NewSegment(std::uint64_t size, std::uint64_t page,
                                                     int stream, int size_class, bool expandable) {
  segments_.push_back({next_address_, page, stream, size_class, expandable, {}});
  segments_.back().users.assign(expandable ? 0 : 1, 0);
  const Index piece = NewPiece({.address = next_address_,
                                .size = size,
                                .segment = static_cast<Index>(segments_.size() - 1),
                                .mapped = !expandable});
  next_address_ += size;
  return piece;
}

CachingAllocator::Index CachingAllocator::Cut(Index piece, std::uint64_t size) {
  Piece rest = pieces_[piece];
  rest.address += size;
  rest.size -= size;
  rest.previous = piece;
  const Index index = NewPiece(rest);
  if (rest.next != kNone) pieces_[rest.next].previous = index;
  pieces_[piece].next = index;
  pieces_[piece].size = size;
  return index;
}

void CachingAllocator::MergeNeighbours(Index piece) {
  Piece& into = pieces_[piece];
  const auto joins = [&](Index other) {
    return other != kNone && !pieces_[other].used && pieces_[other].mapped == into.mapped;
  };
  if (const Index previous = into.previous; joins(previous)) {
    Remove(previous);
    into.address = pieces_[previous].address;
    into.size += pieces_[previous].size;
    into.previous = pieces_[previous].previous;
    if (into.previous != kNone) pieces_[into.previous].next = piece;
    spare_.push_back(previous);
  }
  if (const Index next = into.next; joins(next)) {
    Remove(next);
    into.size += pieces_[next].size;
    into.next = pieces_[next].next;
    if (into.next != kNone) pieces_[into.next].previous = piece;
    spare_.push_back(next);
  }
}

void CachingAllocator::Occupy(Index index, bool used) {
  Piece& piece = pieces_[index];
  Segment& segment = SegmentOf(index);
  piece.used = used;
  now_.allocated += used ? piece.size : -piece.size;
  const std::size_t first = (piece.address - segment.address) / segment.page,
                    last = (piece.address + piece.size - 1 - segment.address) / segment.page;
  if (last >= segment.users.size()) segment.users.resize(last + 1);
  for (std::size_t page = first; page <= last; ++page) {
    if (used && segment.users[page]++ == 0) now_.pinned += segment.page;
    if (!used && --segment.users[page] == 0) now_.pinned -= segment.page;
  }
  peak_.allocated = std::max(peak_.allocated, now_.allocated);
  peak_.pinned = std::max(peak_.pinned, now_.pinned);
}

bool CachingAllocator::Reserve(std::uint64_t bytes) {
  if (bytes > options_.capacity - std::min(options_.capacity, now_.reserved)) return false;
  now_.reserved += bytes;
  peak_.reserved = std::max(peak_.reserved, now_.reserved);
  return true;
}

CachingAllocator::Index CachingAllocator::BestFit(std::uint64_t size, int stream, int size_class) {
  std::vector<Entry>& pieces = PoolOf(stream, size_class).free;
  auto found = Find(pieces, static_cast<std::uint32_t>(size / kMinBlockSize), 0);
  if (found == pieces.end()) return kNone;
  if (options_.expandable_segments) {
    // A piece at the end counts with what it can still grow to, so that inner ones are used first.
    const auto extent = [&](const Entry& entry) {
      const Index next = pieces_[entry.piece].next;
      const bool grows = next != kNone && !pieces_[next].mapped;
      return pieces_[entry.piece].size + (grows ? pieces_[next].size : 0);
    };
    for (auto next = found + 1; next != pieces.end() && extent(*next) < extent(*found); ++next)
      found = next;
  }
  // An oversize piece serves only oversize requests, and those only closely.
  const Index piece = found->piece;
  const std::uint64_t oversize = options_.max_split_size, held = pieces_[piece].size;
  if (size < oversize ? held >= oversize : held >= size + kLargeBuffer) return kNone;
  pieces.erase(found);
  return piece;
}

CachingAllocator::Index CachingAllocator::FromDevice(std::uint64_t size, int stream,
                                                     int size_class) {
  if (options_.expandable_segments) return Grow(size, stream, size_class);
  const std::uint64_t bytes = SegmentSize(size);
  return Reserve(bytes) ? NewSegment(bytes, bytes, stream, size_class, false) : kNone;
}

// The lowest place where free and unmapped neighbours together hold `size`.
CachingAllocator::Index CachingAllocator::FirstGap(std::uint64_t size, int stream, int size_class) {
  for (const Entry& gap : PoolOf(stream, size_class).unmapped) {
    const Index before = pieces_[gap.piece].previous;
    const Index first = IsFree(before) ? before : gap.piece;
    std::uint64_t room = 0;
    for (Index i = first; i != kNone && !pieces_[i].used && room < size; i = pieces_[i].next)
      room += pieces_[i].size;
    if (room >= size) return first;
  }
  return kNone;
}

CachingAllocator::Index CachingAllocator::Grow(std::uint64_t size, int stream, int size_class) {
  Index piece = FirstGap(size, stream, size_class);
  if (piece == kNone) {
    piece = NewSegment(kAddressSpace, size_class == kSmall ? kSmallBuffer : kLargeBuffer, stream,
                       size_class, true);
    Insert(piece);
  }
  if (!pieces_[piece].mapped && !Map(piece, size)) return kNone;
  while (pieces_[piece].size < size) {
    const Index next = pieces_[piece].next;
    if (!Map(next, size - pieces_[piece].size)) return kNone;
    piece = next;  // which took the one before it in
  }
  Remove(piece);
  return piece;
}

bool CachingAllocator::Map(Index piece, std::uint64_t size) {
  const std::uint64_t pages = RoundUp(std::min(size, pieces_[piece].size), SegmentOf(piece).page);
  if (!Reserve(pages)) return false;
  Remove(piece);
  if (pages < pieces_[piece].size) Insert(Cut(piece, pages));
  pieces_[piece].mapped = true;
  MergeNeighbours(piece);
  Insert(piece);
  return true;
}

// As much oversize memory as the request is long: the smallest piece that has it, or the largest
// ones.
void CachingAllocator::ReleaseOversize(std::uint64_t size, int stream, int size_class) {
  std::vector<Entry>& pieces = PoolOf(stream, size_class).free;
  const std::uint64_t wanted = std::max(size, options_.max_split_size);
  const auto it = Find(pieces, static_cast<std::uint32_t>(wanted / kMinBlockSize), 0);
  if (it != pieces.end()) {
    ReleaseSegment(it->piece);
    return;
  }
  for (std::uint64_t released = 0; released < wanted && !pieces.empty();) {
    const Index largest = pieces.back().piece;
    if (pieces_[largest].size < options_.max_split_size) return;
    released += pieces_[largest].size;
    ReleaseSegment(largest);
  }
}

void CachingAllocator::ReleaseSegment(Index piece) {
  Remove(piece);
  now_.reserved -= pieces_[piece].size;
  spare_.push_back(piece);
}

// Takes the memory from the whole pages of a free piece; its address space stays.
void CachingAllocator::Unmap(Index piece) {
  const Segment& segment = SegmentOf(piece);
  const std::uint64_t page = segment.page, offset = pieces_[piece].address - segment.address;
  const std::uint64_t begin = RoundUp(offset, page),
                      end = (offset + pieces_[piece].size) / page * page;
  if (begin >= end) return;
  Remove(piece);
  if (begin > offset) {
    const Index inner = Cut(piece, begin - offset);
    Insert(piece);
    piece = inner;
  }
  if (pieces_[piece].size > end - begin) Insert(Cut(piece, end - begin));
  now_.reserved -= end - begin;
  pieces_[piece].mapped = false;
  MergeNeighbours(piece);
  Insert(piece);
}
}  // namespace shardplan
