// SPDX-License-Identifier: Apache-2.0
// A model of PyTorch's CUDA caching allocator: what a row of allocations and frees reserves.
//
// The rules are those of c10/cuda/CUDACachingAllocator.cpp (PyTorch 2.11), without graphs' private
// pools and garbage collection. Requests are rounded to 512 bytes. Those up to 1 MiB are cut from
// segments of 2 MiB, those below 10 MiB from segments of 20 MiB, larger ones get a segment of
// their own in steps of 2 MiB. The smallest free piece that is large enough is taken and split;
// neighbours merge when freed. Segments go back to the device only when an allocation would
// exceed the capacity. A piece serves the stream that its segment was made for.
// Pure: nothing is behind the addresses.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace shardplan {

struct AllocatorOptions {
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
  // One segment for each stream and pool that grows by pages, instead of one for an allocation.
  bool expandable_segments = false;
  std::uint64_t max_split_size = kUnlimited;  // pieces from this size on are never split
  std::uint64_t capacity = kUnlimited;        // what may be reserved
};

class CachingAllocator {
 public:
  using Block = std::uint32_t;  // a piece in use

  struct Usage {
    std::uint64_t allocated = 0;  // in blocks: torch.cuda.memory_allocated
    std::uint64_t reserved = 0;   // in segments: torch.cuda.memory_reserved
    // In segments, or pages of expandable ones, that hold a block: what no empty_cache gives back.
    // Beyond `allocated` it is fragmentation; `reserved` beyond it is elastic.
    std::uint64_t pinned = 0;
  };

  explicit CachingAllocator(const AllocatorOptions& options = {}) : options_(options) {}

  // nullopt: out of memory, though all that is cached was given back. REQUIRES: bytes > 0.
  std::optional<Block> Allocate(std::uint64_t bytes, int stream = 0);
  // REQUIRES: `block` is in use.
  void Free(Block block);
  // Gives wholly free segments and pages back to the device.
  void EmptyCache();

  const Usage& now() const { return now_; }
  // The most of each since the last reset, not of one moment.
  const Usage& peak() const { return peak_; }
  void ResetPeak() { peak_ = now_; }
  // How often an allocation fitted only after the cache was given back, or not even then.
  int retries() const { return retries_; }

  std::uint64_t AddressOf(Block block) const { return pieces_[block].address; }
  std::uint64_t SizeOf(Block block) const { return pieces_[block].size; }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = std::numeric_limits<Index>::max();

  // A range of a segment: in use, free, or (expandable) without memory behind it.
  struct Piece {
    std::uint64_t address = 0, size = 0;
    Index segment = 0, previous = kNone, next = kNone;
    bool used = false, mapped = true;
  };
  struct Segment {
    std::uint64_t address = 0;
    std::uint64_t page = 0;  // what is given back at once: all of it unless expandable
    int stream = 0;
    int size_class = 0;
    bool expandable = false;
    std::vector<std::uint32_t> users;  // blocks on each page
  };
  // Free pieces of one stream and size class as best fit looks at them, by size and address; what
  // is unmapped, by address. Few hundred entries: contiguous ones are faster than a tree.
  struct Entry {
    std::uint32_t units;  // of kMinBlockSize
    Index piece;
  };
  struct Pool {
    std::vector<Entry> free, unmapped;
  };

  Segment& SegmentOf(Index piece) { return segments_[pieces_[piece].segment]; }
  Pool& PoolOf(int stream, int size_class);
  std::vector<Entry>& ListOf(Index piece);
  // Where in its list an entry of that size and address is, or belongs.
  std::vector<Entry>::iterator Find(std::vector<Entry>& list, std::uint32_t units,
                                    std::uint64_t address);
  std::uint32_t UnitsOf(Index piece) const;
  void Insert(Index piece);
  void Remove(Index piece);
  bool IsFree(Index piece) const {
    return piece != kNone && !pieces_[piece].used && pieces_[piece].mapped;
  }
  Index NewPiece(const Piece& piece);
  Index NewSegment(std::uint64_t size, std::uint64_t page, int stream, int size_class,
                   bool expandable);
  Index Cut(Index piece, std::uint64_t size);  // the rest; in no set yet
  void MergeNeighbours(Index piece);
  void Occupy(Index piece, bool used);
  bool Reserve(std::uint64_t bytes);

  // Each a free piece of at least `size`, in no set any more; kNone: there is none.
  Index BestFit(std::uint64_t size, int stream, int size_class);
  Index FromDevice(std::uint64_t size, int stream, int size_class);
  Index Grow(std::uint64_t size, int stream, int size_class);
  bool Map(Index piece, std::uint64_t size);
  Index FirstGap(std::uint64_t size, int stream, int size_class);

  void ReleaseOversize(std::uint64_t size, int stream, int size_class);
  void ReleaseSegment(Index piece);
  void Unmap(Index piece);

  AllocatorOptions options_;
  std::vector<Piece> pieces_;
  std::vector<Index> spare_;  // of pieces_, to use again
  std::vector<Segment> segments_;
  std::vector<Pool> pools_;  // two of each stream
  std::uint64_t next_address_ = 0;
  Usage now_, peak_;
  int retries_ = 0;
};
}  // namespace shardplan
