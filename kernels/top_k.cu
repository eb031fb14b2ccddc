// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/top_k.h"

namespace shardplan::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kDigitBits = 11;
constexpr int kBins = 1 << kDigitBits;
constexpr int kCopies = 4;  // of the histogram, in each block
// The magnitude's 31 bits from the top: digits of 11, 11 and 9 bits.
constexpr int kShifts[] = {20, 9, 0};
constexpr int kWidths[] = {11, 11, 9};

struct Search {
  unsigned histogram[kBins];
  unsigned prefix;  // the digits found so far of the k-th largest magnitude
  unsigned wanted;  // how many are still to take among those that start with it
  unsigned larger;  // magnitudes above the k-th met so far
  unsigned equal;   // and equal to it
};

__device__ unsigned Magnitude(float x) { return __float_as_uint(x) & 0x7fffffffu; }

__global__ void Begin(Search* search, unsigned k) {
  for (int i = threadIdx.x; i < kBins; i += blockDim.x) search->histogram[i] = 0;
  if (threadIdx.x != 0) return;
  search->prefix = 0;
  search->wanted = k;
  search->larger = 0;
  search->equal = 0;
}

// Counts the next digit of the magnitudes that start with the prefix.
template <class T>
__global__ void __launch_bounds__(kThreads)
    CountDigits(int64_t elements, const T* x, Search* search, int shift, int width) {
  // Most magnitudes share few digits. Lanes count in turns into copies, so that fewer of a warp
  // meet at one address; a copy's first bin lies in another bank than the last one's.
  __shared__ unsigned bins[kCopies][kBins + kWarp / kCopies];
  for (int i = threadIdx.x; i < kBins; i += kThreads)
    for (auto& copy : bins) copy[i] = 0;
  __syncthreads();
  unsigned* mine = bins[threadIdx.x % kCopies];
  const unsigned prefix = search->prefix;
  const int above = shift + width;
  const unsigned mask = (1u << width) - 1;
  const auto count = [&](float value) {
    const unsigned magnitude = Magnitude(value);
    if (magnitude >> above == prefix) atomicAdd(&mine[magnitude >> shift & mask], 1u);
  };
  const int64_t packs = elements / kLanes<T>;
  const int64_t first = int64_t{blockIdx.x} * kThreads + threadIdx.x;
#pragma unroll 2
  for (int64_t c = first; c < packs; c += int64_t{gridDim.x} * kThreads) {
    const Pack<T> pack = Packs(x)[c];
    for (int j = 0; j < kLanes<T>; ++j) count(pack[j]);
  }
  const int64_t tail = packs * kLanes<T> + first;
  if (tail < elements) count(ToFloat(x[tail]));
  __syncthreads();
  for (int i = threadIdx.x; i < kBins; i += kThreads) {
    unsigned total = 0;
    for (const auto& copy : bins) total += copy[i];
    if (total) atomicAdd(&search->histogram[i], total);
  }
}

// Appends the digit in which the k-th largest lies, and clears the histogram. One warp.
__global__ void ChooseDigit(Search* search, int width) {
  const unsigned lane = threadIdx.x;
  unsigned wanted = search->wanted;
  bool found = false;
  for (int high = kBins; high > 0; high -= kWarp) {
    const int bin = high - 1 - static_cast<int>(lane);  // lane 0 the largest
    const unsigned count = search->histogram[bin];
    search->histogram[bin] = 0;
    unsigned through = count;  // of this bin and the larger ones of these 32
    for (int step = 1; step < kWarp; step *= 2) {
      const unsigned other = __shfl_up_sync(~0u, through, step);
      if (lane >= step) through += other;
    }
    if (found) continue;
    const unsigned reached = __ballot_sync(~0u, through >= wanted);
    if (reached == 0) {
      wanted -= __shfl_sync(~0u, through, kWarp - 1);
      continue;
    }
    found = true;
    if (lane != __ffs(static_cast<int>(reached)) - 1) continue;
    search->prefix = search->prefix << width | static_cast<unsigned>(bin);
    search->wanted = wanted - (through - count);
  }
}

// Places for what a block's threads ask for: one addition a block reaches the common counter.
class Places {
 public:
  // For each thread of the block, all of which must call: the first of its `count` places.
  __device__ unsigned Take(unsigned count, unsigned* counter) {
    if (threadIdx.x == 0) in_block_ = 0;
    __syncthreads();
    const unsigned mine = count ? atomicAdd(&in_block_, count) : 0;
    __syncthreads();
    if (threadIdx.x == 0 && in_block_) first_ = atomicAdd(counter, in_block_);
    __syncthreads();
    return first_ + mine;
  }

 private:
  unsigned in_block_;
  unsigned first_;
};

// Magnitudes above the k-th fill the front of the pairs, equal ones what is left of them.
template <class T>
__global__ void __launch_bounds__(kThreads)
    Take(int64_t elements, int64_t k, T* x, Search* search, int32_t* indices, T* values) {
  __shared__ Places larger_places;
  __shared__ Places equal_places;
  const unsigned kth = search->prefix;
  const unsigned equals = search->wanted;
  constexpr int64_t kTile = int64_t{kThreads} * kLanes<T>;
  for (int64_t tile = blockIdx.x * kTile; tile < elements; tile += gridDim.x * kTile) {
    const int64_t start = tile + threadIdx.x * kLanes<T>;
    const int count = static_cast<int>(max(int64_t{0}, min(int64_t{kLanes<T>}, elements - start)));
    Pack<T> pack;
    if (count == kLanes<T>)
      pack = Packs(static_cast<const T*>(x))[start / kLanes<T>];
    else
#pragma unroll
      for (int j = 0; j < kLanes<T>; ++j)
        if (j < count) pack.lane[j] = x[start + j];
    unsigned larger = 0;
    unsigned equal = 0;
#pragma unroll
    for (int j = 0; j < kLanes<T>; ++j)
      if (j < count) {
        larger += Magnitude(pack[j]) > kth;
        equal += Magnitude(pack[j]) == kth;
      }
    if (!__syncthreads_or(larger + equal)) continue;  // the block as one
    unsigned at_larger = larger_places.Take(larger, &search->larger);
    unsigned at_equal = equal_places.Take(equal, &search->equal);
#pragma unroll
    for (int j = 0; j < kLanes<T>; ++j) {
      const unsigned magnitude = Magnitude(pack[j]);
      if (j >= count || magnitude < kth) continue;
      if (magnitude == kth && at_equal++ >= equals) continue;
      const int64_t at = magnitude > kth ? at_larger++ : k - equals + (at_equal - 1);
      indices[at] = static_cast<int32_t>(start + j);
      values[at] = pack.lane[j];
      x[start + j] = FromFloat<T>(0.f);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    AddPairs(int64_t k, const int32_t* indices, const T* values, T* x) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= k) return;
  T& at = x[indices[i]];
  at = FromFloat<T>(ToFloat(at) + ToFloat(values[i]));
}
}  // namespace

int64_t TopKWorkspace() { return sizeof(Search); }

void TopK(int64_t elements, int64_t k, DType dtype, void* x, int32_t* indices, void* values,
          void* workspace, Stream stream) {
  SHARDPLAN_CHECK(k > 0 && k <= elements && elements < (int64_t{1} << 31));
  auto* search = static_cast<Search*>(workspace);
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const int64_t fill = 8 * MultiprocessorCount();
    const auto blocks =
        static_cast<unsigned>(std::min<int64_t>(fill, GridOf(elements, kThreads * kLanes<T>)));
    Launch(Begin, 1, kThreads, stream, search, static_cast<unsigned>(k));
    for (int digit = 0; digit < 3; ++digit) {
      Launch(CountDigits<T>, blocks, kThreads, stream, elements, As<T>(x), search, kShifts[digit],
             kWidths[digit]);
      Launch(ChooseDigit, 1, kWarp, stream, search, kWidths[digit]);
    }
    Launch(Take<T>, blocks, kThreads, stream, elements, k, As<T>(x), search, indices,
           As<T>(values));
  });
}

void ScatterPairs(int64_t k, DType dtype, const int32_t* indices, const void* values, void* x,
                  Stream stream) {
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(AddPairs<T>, GridOf(k, kThreads), kThreads, stream, k, indices, As<T>(values), As<T>(x));
  });
}
}  // namespace shardplan::kernels
