// SPDX-License-Identifier: Apache-2.0
// Kernels that measure the memory hierarchy: each reads by one pattern and does nothing else.
//
// Each launcher returns the bytes that its threads ask for; over the time it takes they give the
// pattern's rate. Every reader adds up what it read as 32-bit words into *sum, modulo 2^32, which
// keeps the compiler honest and lets a test check that it read what it says.
#pragma once
#include <cstdint>
#include <memory>

#include "kernels/stream.h"
#include "planner/base/result.h"

namespace shardplan::kernels {

// dst = src, 16 bytes a thread at a time. Returns bytes read and written.
int64_t CopyMemory(int64_t bytes, const void* src, void* dst, Stream stream);

// Every `stride`-th word of `words`: a warp's 32 reads lie 4 * stride bytes apart.
int64_t ReadStrided(int64_t words, int64_t stride, const uint32_t* in, uint32_t* sum,
                    Stream stream);
// A matrix whose rows of `columns` words begin `pitch` words apart, a block a row.
int64_t ReadPitched(int64_t rows, int64_t columns, int64_t pitch, const uint32_t* in, uint32_t* sum,
                    Stream stream);
// The whole buffer `passes` times, 16 bytes a thread at a time, past the L1: the L2's rate where
// the buffer fits it.
int64_t ReadRepeatedly(int64_t bytes, int64_t passes, const void* in, uint32_t* sum, Stream stream);

// Words of shared memory, a warp's 32 reads `stride` words apart: as many in a bank as the greatest
// common divisor of stride and 32. It holds its own index in each word.
inline constexpr int64_t kSharedWords = 4096;
int64_t ReadShared(int64_t stride, int64_t reads, uint32_t* sum, Stream stream);

// Words of constant memory, which holds its own index in each: the same for the 32 threads of a
// warp (spread 0), or `spread` words apart.
inline constexpr int64_t kConstantWords = 4096;
Result<void> FillConstant(Stream stream);  // once, before the first read
int64_t ReadConstant(int64_t spread, int64_t reads, uint32_t* sum, Stream stream);

// A square of 32-bit words in the texture units' own layout, read by warps that lie along its rows
// or its columns.
class Texture {
 public:
  static Result<Texture> Make(int64_t side, const uint32_t* in, Stream stream);
  Texture(Texture&&) noexcept;
  Texture& operator=(Texture&&) noexcept;
  ~Texture();
  enum class Along { kRows, kColumns };
  int64_t Read(Along along, uint32_t* sum, Stream stream) const;

 private:
  struct Array;
  explicit Texture(std::unique_ptr<Array> array);
  std::unique_ptr<Array> array_;
};

// fp32 multiply-adds on every multiprocessor, which touch no memory but sum: something for a copy
// to overlap with. Returns FLOPs.
int64_t ComputeOnly(int64_t iterations, float* sum, Stream stream);
}  // namespace shardplan::kernels
