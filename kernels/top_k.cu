// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/top_k.h"

namespace shardplan::kernels {
namespace {

constexpr int kThreads = 256;
// A digit of a magnitude's 31 bits as fp32. The first is the exponent; 16-bit formats have no bits
// set in the last.
struct Digit {
  int shift, width;
};
constexpr Digit kExponent{23, 8};
constexpr Digit kFraction[] = {{11, 12}, {0, 11}};
constexpr int kBins = 1 << 12;  // of the widest

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

// body(magnitude) for each element, over the blocks of a grid.
template <class T, class Body>
__device__ void ForMagnitudes(int64_t elements, const T* x, Body&& body) {
  const int64_t packs = elements / kLanes<T>;
  const int64_t first = int64_t{blockIdx.x} * kThreads + threadIdx.x;
#pragma unroll 4
  for (int64_t c = first; c < packs; c += int64_t{gridDim.x} * kThreads) {
    const Pack<T> pack = Packs(x)[c];
    for (int j = 0; j < kLanes<T>; ++j) body(Magnitude(pack[j]));
  }
  const int64_t tail = packs * kLanes<T> + first;
  if (tail < elements) body(Magnitude(ToFloat(x[tail])));
}

// Counts exponents. All magnitudes count and most share a few exponents, so each lane of a warp
// counts in a bank of its own.
template <class T>
__global__ void __launch_bounds__(kThreads)
    CountExponents(int64_t elements, const T* x, Search* search) {
  constexpr int kExponents = 1 << kExponent.width;
  static_assert(kExponents == kThreads);
  __shared__ unsigned bins[kExponents][kWarp];
  for (int i = threadIdx.x; i < kExponents * kWarp; i += kThreads) bins[0][i] = 0;
  __syncthreads();
  const unsigned lane = threadIdx.x % kWarp;
  ForMagnitudes(elements, x, [&](unsigned magnitude) {
    atomicAdd(&bins[magnitude >> kExponent.shift][lane], 1u);
  });
  __syncthreads();
  unsigned total = 0;
  for (unsigned i = 0; i < kWarp; ++i) total += bins[threadIdx.x][(i + lane) % kWarp];
  if (total) atomicAdd(&search->histogram[threadIdx.x], total);
}

// Counts the next digit of the magnitudes that start with the prefix: few do.
template <class T>
__global__ void __launch_bounds__(kThreads)
    CountFractions(int64_t elements, const T* x, Search* search, Digit digit) {
  __shared__ unsigned bins[kBins];
  for (int i = threadIdx.x; i < kBins; i += kThreads) bins[i] = 0;
  __syncthreads();
  const unsigned prefix = search->prefix;
  const int above = digit.shift + digit.width;
  const unsigned mask = (1u << digit.width) - 1;
  ForMagnitudes(elements, x, [&](unsigned magnitude) {
    if (magnitude >> above == prefix) atomicAdd(&bins[magnitude >> digit.shift & mask], 1u);
  });
  __syncthreads();
  for (int i = threadIdx.x; i < kBins; i += kThreads)
    if (bins[i]) atomicAdd(&search->histogram[i], bins[i]);
}

// Appends the digit in which the k-th largest lies, and clears the histogram. One block.
__global__ void __launch_bounds__(kThreads) ChooseDigit(Search* search, int width) {
  __shared__ unsigned through[kThreads];  // how many lie in a thread's bins and all larger ones
  const int bins = (1 << width) / kThreads;
  const int top = (1 << width) - 1 - static_cast<int>(threadIdx.x) * bins;  // of a thread's
  unsigned mine = 0;
  for (int i = 0; i < bins; ++i) mine += search->histogram[top - i];
  through[threadIdx.x] = mine;
  for (unsigned step = 1; step < kThreads; step *= 2) {
    __syncthreads();
    const unsigned other = threadIdx.x >= step ? through[threadIdx.x - step] : 0;
    __syncthreads();
    through[threadIdx.x] += other;
  }
  const unsigned wanted = search->wanted;
  unsigned reached = through[threadIdx.x] - mine;
  __syncthreads();  // before `wanted` changes
  for (int bin = top; bin > top - bins; --bin) {
    const unsigned count = search->histogram[bin];
    search->histogram[bin] = 0;
    if (reached < wanted && reached + count >= wanted) {
      search->prefix = search->prefix << width | static_cast<unsigned>(bin);
      search->wanted = wanted - reached;
    }
    reached += count;
  }
}

// Magnitudes above the k-th and equal to it, of which a block's tile has fewer than 2^16.
struct Counts {
  unsigned larger, equal;
};
// Places for what a block's threads have counted: two additions a block reach the search. For each
// thread of the block, all of which must call: the first places of its own.
class Places {
 public:
  __device__ Counts Take(Counts counts, Search* search) {
    if (threadIdx.x == 0) in_block_ = 0;
    __syncthreads();
    const unsigned both = counts.larger | counts.equal << 16;
    const unsigned mine = both ? atomicAdd(&in_block_, both) : 0;
    __syncthreads();
    if (threadIdx.x == 0) {
      if (in_block_ & 0xffff) first_.larger = atomicAdd(&search->larger, in_block_ & 0xffff);
      if (in_block_ >> 16) first_.equal = atomicAdd(&search->equal, in_block_ >> 16);
    }
    __syncthreads();
    return {first_.larger + (mine & 0xffff), first_.equal + (mine >> 16)};
  }

 private:
  unsigned in_block_;
  Counts first_;
};

// Magnitudes above the k-th fill the front of the pairs, equal ones what is left of them.
template <class T>
__global__ void __launch_bounds__(kThreads) Take(int64_t elements, int64_t k, T* x, Search* search,
                                                 int unset, int32_t* indices, T* values) {
  constexpr int kPacks = 4;  // of a thread's part of a tile
  static_assert(kPacks * kLanes<T> <= 32);
  __shared__ Places places;
  const unsigned kth = search->prefix << unset;
  const unsigned equals = search->wanted;
  constexpr int64_t kTile = int64_t{kThreads} * kPacks * kLanes<T>;
  for (int64_t tile = blockIdx.x * kTile; tile < elements; tile += gridDim.x * kTile) {
    // Where the thread's i-th element lies.
    const auto at = [&](int i) {
      return tile + (i / kLanes<T> * kThreads + static_cast<int>(threadIdx.x)) * kLanes<T> +
             i % kLanes<T>;
    };
    Pack<T> pack[kPacks] = {};
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int64_t start = at(p * kLanes<T>);
      if (start + kLanes<T> <= elements)
        pack[p] = Packs(static_cast<const T*>(x))[start / kLanes<T>];
      else
        for (int j = 0; j < kLanes<T>; ++j)
          if (start + j < elements) pack[p].lane[j] = x[start + j];
    }
    unsigned reached = 0;  // a bit an element
    unsigned passed = 0;
#pragma unroll
    for (int i = 0; i < kPacks * kLanes<T>; ++i) {
      const unsigned magnitude = Magnitude(pack[i / kLanes<T>][i % kLanes<T>]);
      reached |= static_cast<unsigned>(magnitude >= kth) << i;
      passed |= static_cast<unsigned>(magnitude > kth) << i;
    }
    // Zeros beyond the end reach a k-th of zero.
    if (kth == 0)
      for (int i = 0; i < kPacks * kLanes<T>; ++i)
        if (at(i) >= elements) reached &= ~(1u << i);
    if (!__syncthreads_or(static_cast<int>(reached))) continue;  // the block as one
    const auto larger = static_cast<unsigned>(__popc(passed));
    Counts place = places.Take({larger, __popc(reached) - larger}, search);
    // They are few: read again, from the cache.
    for (unsigned left = reached; left; left &= left - 1) {
      const int i = __ffs(static_cast<int>(left)) - 1;
      const bool above = passed >> i & 1;
      if (!above && place.equal++ >= equals) continue;
      const int64_t to = above ? place.larger++ : k - equals + (place.equal - 1);
      T& value = x[at(i)];
      indices[to] = static_cast<int32_t>(at(i));
      values[to] = value;
      value = FromFloat<T>(0.f);
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
    Launch(CountExponents<T>, blocks, kThreads, stream, elements, As<T>(x), search);
    Launch(ChooseDigit, 1, kThreads, stream, search, kExponent.width);
    const int unset = sizeof(T) == 2 ? kFraction[0].shift : 0;  // low bits that are zero in T
    for (const Digit& digit : kFraction) {
      if (digit.shift < unset) break;
      Launch(CountFractions<T>, blocks, kThreads, stream, elements, As<T>(x), search, digit);
      Launch(ChooseDigit, 1, kThreads, stream, search, digit.width);
    }
    Launch(Take<T>, blocks, kThreads, stream, elements, k, As<T>(x), search, unset, indices,
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
