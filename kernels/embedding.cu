// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/embedding.h"

namespace shardplan::kernels {
namespace {

constexpr int kThreads = 256;

// A block a token.
template <class T>
__global__ void __launch_bounds__(kThreads)
    Gather(EmbeddingShape shape, const int32_t* ids, const T* table, T* y) {
  const int64_t packs = shape.columns / kLanes<T>;
  const int64_t row = ids[blockIdx.x] - shape.first_row;
  const bool is_here = row >= 0 && row < shape.rows;
  for (int64_t c = threadIdx.x; c < packs; c += kThreads) {
    Pack<T> x;
    for (int j = 0; j < kLanes<T>; ++j) x.Set(j, 0.f);
    if (is_here) x = Packs(table)[row * packs + c];
    Packs(y)[blockIdx.x * packs + c] = x;
  }
}

// The tokens of a row of the table form a list, whose sum is one addition to the table: a frequent
// token's list is long, but nothing of it is atomic.
constexpr int32_t kNone = -1;  // all bits set, as the memory of empty lists is

__global__ void __launch_bounds__(kThreads)
    LinkTokens(EmbeddingShape shape, const int32_t* ids, int32_t* heads, int32_t* next) {
  const int64_t token = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (token >= shape.tokens) return;
  const int64_t row = ids[token] - shape.first_row;
  if (row < 0 || row >= shape.rows) return;
  next[token] = atomicExch(&heads[row], static_cast<int32_t>(token));
}

// A block a token, of which those at the head of a list work.
template <class T>
__global__ void __launch_bounds__(kThreads)
    AddLists(EmbeddingShape shape, const int32_t* ids, const int32_t* heads, const int32_t* next,
             const T* dy, float* dtable) {
  constexpr int kCount = kLanes<T>;
  constexpr int kAtOnce = 4;  // tokens whose gradients are asked for before any is used
  const auto head = static_cast<int32_t>(blockIdx.x);
  const int64_t row = ids[head] - shape.first_row;
  if (row < 0 || row >= shape.rows || heads[row] != head) return;
  const int64_t packs = shape.columns / kCount;
  for (int64_t c = threadIdx.x; c < packs; c += kThreads) {
    float* out = dtable + row * shape.columns + c * kCount;
    auto sum = LoadFloats<kCount>(out);
    for (int32_t token = head; token != kNone;) {
      Pack<T> d[kAtOnce] = {};
#pragma unroll
      for (auto& pack : d) {
        if (token == kNone) break;
        pack = Packs(dy)[token * packs + c];
        token = next[token];
      }
      for (const auto& pack : d)
        for (int j = 0; j < kCount; ++j) sum.lane[j] += pack[j];
    }
    StoreFloats<kCount>(out, sum);
  }
}

void CheckShape(const EmbeddingShape& shape, DType dtype) {
  SHARDPLAN_CHECK(shape.columns > 0 && shape.columns * SizeOf(dtype) % 16 == 0);
  SHARDPLAN_CHECK(shape.rows > 0 && shape.first_row >= 0);
}
}  // namespace

void EmbeddingForward(const EmbeddingShape& shape, DType dtype, const int32_t* ids,
                      const void* table, void* y, Stream stream) {
  CheckShape(shape, dtype);
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(Gather<T>, GridOf(shape.tokens, 1), kThreads, stream, shape, ids, As<T>(table),
           As<T>(y));
  });
}

int64_t EmbeddingBackwardWorkspace(const EmbeddingShape& shape) {
  return (shape.rows + shape.tokens) * int64_t{sizeof(int32_t)};
}

void EmbeddingBackward(const EmbeddingShape& shape, DType dtype, const int32_t* ids, const void* dy,
                       float* dtable, void* workspace, Stream stream) {
  CheckShape(shape, dtype);
  auto* heads = static_cast<int32_t*>(workspace);
  int32_t* next = heads + shape.rows;
  SHARDPLAN_CHECK(cudaMemsetAsync(heads, 0xff, shape.rows * sizeof(int32_t), stream) ==
                  cudaSuccess);
  Launch(LinkTokens, GridOf(shape.tokens, kThreads), kThreads, stream, shape, ids, heads, next);
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(AddLists<T>, GridOf(shape.tokens, 1), kThreads, stream, shape, ids, heads, next,
           As<T>(dy), dtable);
  });
}
}  // namespace shardplan::kernels
