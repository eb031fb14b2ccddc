// SPDX-License-Identifier: Apache-2.0
#include "kernels/column_sum.h"
#include "kernels/device.cuh"
#include "kernels/norm.h"

namespace shardplan::kernels {
namespace {

// Threads that share a row, and rows that share a block. A row's elements stay in registers
// between the pass that sums and the one that writes, kPacks packs a thread.
struct Layout {
  dim3 block;
  int packs_per_thread;  // 1, 2, 4 or 8: what a block of 512 threads needs to hold the row

  // `least`: packs a thread, where the row is short enough to leave a choice.
  Layout(const NormShape& shape, DType dtype, int least) {
    const int64_t packs = shape.columns * SizeOf(dtype) / 16;
    SHARDPLAN_CHECK(shape.rows > 0 && packs > 0 && packs <= 4096);
    SHARDPLAN_CHECK(packs * 16 == shape.columns * SizeOf(dtype));
    packs_per_thread = least;
    while (packs_per_thread * 512 < packs) packs_per_thread *= 2;
    const auto threads = static_cast<unsigned>(CeilDiv<int64_t>(packs, packs_per_thread));
    block.x = CeilDiv(threads, unsigned{kWarp}) * kWarp;
    block.y = block.x == kWarp ? 8 : 1;
  }
};

template <class T, int kPacks>
struct Row {
  Pack<T> pack[kPacks];

  __device__ void Keep() {
#pragma unroll
    for (auto& one : pack) KeepPacked(one);
  }
};

// f(i, c) for the thread's i-th pack, which is the row's c-th.
template <int kPacks, class Body>
__device__ void ForPacks(int64_t packs, Body&& body) {
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const int64_t c = threadIdx.x + i * blockDim.x;
    if (c < packs) body(i, c);
  }
}

template <class T, bool kLayer, int kPacks>
__global__ void __launch_bounds__(512, kPacks <= 2 ? 2 : 1)
    Forward(NormShape shape, NormForwardArgs<T, float> args) {
  __shared__ Pair scratch[kWarp];
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= shape.rows) return;  // never a part of a block that is one row
  const int64_t packs = shape.columns / kLanes<T>;
  const int64_t start = row * packs;

  // All that the row reads is asked for before any of it is used.
  Row<T, kPacks> sum;
  Row<T, kPacks> residual;
  ForPacks<kPacks>(packs, [&](int i, int64_t c) {
    sum.pack[i] = Packs(args.x)[start + c];
    if (args.residual) residual.pack[i] = Packs(args.residual)[start + c];
  });
  // The variance is that about a value of the row, less the square of the mean's distance from it:
  // one pass, and no cancellation however far the row lies from zero.
  float pivot = 0;
  if (kLayer) {
    pivot = ToFloat(args.x[row * shape.columns]);
    if (args.residual) pivot += ToFloat(args.residual[row * shape.columns]);
  }
  Pair totals = {0, 0};
  ForPacks<kPacks>(packs, [&](int i, int64_t c) {
    Pack<T>& x = sum.pack[i];
    if (args.residual) {
      for (int j = 0; j < kLanes<T>; ++j) x.Set(j, x[j] + residual.pack[i][j]);
      Packs(args.sum)[start + c] = x;
    }
    for (int j = 0; j < kLanes<T>; ++j) {
      const float off = x[j] - pivot;
      if (kLayer) totals.first += off;
      totals.second += off * off;
    }
  });
  totals = RowSum(totals, scratch);
#pragma unroll
  for (int i = 0; i < kPacks; ++i) KeepPacked(sum.pack[i]);
  const float share = 1.f / shape.columns;
  const float off = totals.first * share;
  const float mean = pivot + off;
  const float rstd = rsqrtf(fmaxf(totals.second * share - off * off, 0.f) + shape.epsilon);

  ForPacks<kPacks>(packs, [&](int i, int64_t c) {
    const Pack<T> weight = Packs(args.weight)[c];
    Pack<T> bias;
    if (kLayer) bias = Packs(args.bias)[c];
    Pack<T> y;
    for (int j = 0; j < kLanes<T>; ++j) {
      const float scaled = (sum.pack[i][j] - mean) * rstd * weight[j];
      y.Set(j, kLayer ? scaled + bias[j] : scaled);
    }
    Packs(args.y)[start + c] = y;
  });
  if (threadIdx.x != 0) return;
  args.rstd[row] = rstd;
  if (kLayer) args.mean[row] = mean;
}

template <class T, int kPacks>
__device__ Row<T, kPacks> LoadRow(const T* x, int64_t start, int64_t packs) {
  Row<T, kPacks> row;
  ForPacks<kPacks>(packs, [&](int i, int64_t c) { row.pack[i] = Packs(x)[start + c]; });
  return row;
}

// Blocks walk the rows in strides, and ask for a thread's part of the next row before they use this
// one's: memory never waits for a row's sum. Longer rows leave no registers for that.
template <int kPacks>
inline constexpr bool kAsksAhead = kPacks <= 2;

// What a row's backward pass reads.
template <class T, bool kLayer, int kPacks>
struct BackwardInput {
  Row<T, kPacks> sum;
  Row<T, kPacks> dy;
  Row<T, kPacks> dsum;
  float mean;
  float rstd;

  __device__ BackwardInput(const NormShape& shape, const NormBackwardArgs<T, float>& args,
                           int64_t row) {
    const int64_t packs = shape.columns / kLanes<T>;
    sum = LoadRow<T, kPacks>(args.sum, row * packs, packs);
    dy = LoadRow<T, kPacks>(args.dy, row * packs, packs);
    if (args.dsum) dsum = LoadRow<T, kPacks>(args.dsum, row * packs, packs);
    mean = kLayer ? args.mean[row] : 0.f;
    rstd = args.rstd[row];
    sum.Keep();
    dy.Keep();
    if (args.dsum) dsum.Keep();
  }
};

// Each thread sums the weight's gradient of its columns in registers and writes it once, to one row
// of `partials`.
template <class T, bool kLayer, int kPacks>
__global__ void __launch_bounds__(512, kPacks == 1 ? 2 : 1)
    Backward(NormShape shape, NormBackwardArgs<T, float> args, float* partials) {
  __shared__ Pair scratch[2][kWarp];
  using Input = BackwardInput<T, kLayer, kPacks>;
  const int64_t packs = shape.columns / kLanes<T>;
  const float share = 1.f / shape.columns;
  float dweight[kPacks][kLanes<T>] = {};
  float dbias[kPacks][kLanes<T>] = {};
  const int64_t walkers = int64_t{gridDim.x} * blockDim.y;
  const int64_t walker = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  // LayerNorm's sums of two gradients leave no registers for the weight, which the cache has.
  Row<T, kPacks> kept;
  if (!kLayer) {
    kept = LoadRow<T, kPacks>(args.weight, 0, packs);
    kept.Keep();
  }
  const auto weight_of = [&](int i, int64_t c) {
    return kLayer ? Packs(args.weight)[c] : kept.pack[i];
  };
  Input next(shape, args, min(walker, shape.rows - 1));

  int turn = 0;
  for (int64_t row = walker; row < shape.rows; row += walkers, turn ^= 1) {
    Input input = next;
    const bool more = row + walkers < shape.rows;
    if (kAsksAhead<kPacks> && more) next = Input(shape, args, row + walkers);
    const float rstd = input.rstd;
    Pair along = {0, 0};  // the row's normal, and a row of ones
    ForPacks<kPacks>(packs, [&](int i, int64_t c) {
      const Pack<T> weight = weight_of(i, c);
      for (int j = 0; j < kLanes<T>; ++j) {
        const float normal = (input.sum.pack[i][j] - input.mean) * rstd;
        const float gradient = input.dy.pack[i][j] * weight[j];
        along.first += gradient * normal;
        if (kLayer) along.second += gradient;
        dweight[i][j] += input.dy.pack[i][j] * normal;
        if (kLayer) dbias[i][j] += input.dy.pack[i][j];
      }
    });
    along = RowSum(along, scratch[turn]);
    input.sum.Keep();
    input.dy.Keep();
    if (args.dsum) input.dsum.Keep();
    along = {along.first * share, along.second * share};

    ForPacks<kPacks>(packs, [&](int i, int64_t c) {
      const Pack<T> weight = weight_of(i, c);
      Pack<T> dx;
      for (int j = 0; j < kLanes<T>; ++j) {
        const float normal = (input.sum.pack[i][j] - input.mean) * rstd;
        const float gradient = input.dy.pack[i][j] * weight[j];
        const float through = rstd * (gradient - along.second - normal * along.first);
        dx.Set(j, args.dsum ? through + input.dsum.pack[i][j] : through);
      }
      Packs(args.dx)[row * packs + c] = dx;
    });
    if (!kAsksAhead<kPacks> && more) next = Input(shape, args, row + walkers);
  }

  ForPacks<kPacks>(packs, [&](int i, int64_t c) {
    const int64_t at = walker * shape.columns + c * kLanes<T>;
    for (int j = 0; j < kLanes<T>; ++j) {
      partials[at + j] = dweight[i][j];
      if (kLayer) partials[walkers * shape.columns + at + j] = dbias[i][j];
    }
  });
}

// Enough blocks to fill each multiprocessor's 2048 threads once.
unsigned BackwardBlocks(const NormShape& shape, const Layout& layout) {
  const int per_multiprocessor = static_cast<int>(2048 / 2 / (layout.block.x * layout.block.y));
  const int64_t fill = int64_t{MultiprocessorCount()} * std::max(per_multiprocessor, 1);
  return static_cast<unsigned>(std::min<int64_t>(fill, GridOf(shape.rows, layout.block.y)));
}

// Calls body(type, is LayerNorm, packs per thread), each as a compile-time constant.
template <class Body>
void DispatchNorm(const NormShape& shape, DType dtype, const Layout& layout, Body&& body) {
  Dispatch(dtype, [&](auto tag) {
    const auto with_kind = [&](auto is_layer) {
      if (layout.packs_per_thread == 1) body(tag, is_layer, std::integral_constant<int, 1>{});
      if (layout.packs_per_thread == 2) body(tag, is_layer, std::integral_constant<int, 2>{});
      if (layout.packs_per_thread == 4) body(tag, is_layer, std::integral_constant<int, 4>{});
      if (layout.packs_per_thread == 8) body(tag, is_layer, std::integral_constant<int, 8>{});
    };
    if (shape.kind == NormKind::kLayer)
      with_kind(std::true_type{});
    else
      with_kind(std::false_type{});
  });
}
}  // namespace

void NormForward(const NormShape& shape, DType dtype, const NormForwardArgs<void, float>& args,
                 Stream stream) {
  SHARDPLAN_CHECK((shape.kind == NormKind::kLayer) == (args.bias && args.mean));
  SHARDPLAN_CHECK(!args.residual == !args.sum);
  const Layout layout(shape, dtype, 2);
  const unsigned blocks = GridOf(shape.rows, layout.block.y);
  DispatchNorm(shape, dtype, layout, [&](auto tag, auto is_layer, auto packs) {
    using T = typename decltype(tag)::Type;
    const NormForwardArgs<T, float> typed{
        As<T>(args.x),   As<T>(args.residual), As<T>(args.weight), As<T>(args.bias),
        As<T>(args.sum), As<T>(args.y),        args.mean,          args.rstd};
    Launch(Forward<T, is_layer(), packs()>, blocks, layout.block, stream, shape, typed);
  });
}

int64_t NormBackwardWorkspace(const NormShape& shape, DType dtype) {
  const Layout layout(shape, dtype, 1);
  const int64_t sums = shape.kind == NormKind::kLayer ? 2 : 1;
  return sums * BackwardBlocks(shape, layout) * layout.block.y * shape.columns * 4;
}

void NormBackward(const NormShape& shape, DType dtype, const NormBackwardArgs<void, float>& args,
                  void* workspace, Stream stream) {
  SHARDPLAN_CHECK((shape.kind == NormKind::kLayer) == (args.dbias && args.mean));
  const Layout layout(shape, dtype, 1);
  const unsigned blocks = BackwardBlocks(shape, layout);
  auto* partials = static_cast<float*>(workspace);
  DispatchNorm(shape, dtype, layout, [&](auto tag, auto is_layer, auto packs) {
    using T = typename decltype(tag)::Type;
    const NormBackwardArgs<T, float> typed{As<T>(args.sum),  As<T>(args.weight), As<T>(args.dy),
                                           As<T>(args.dsum), args.mean,          args.rstd,
                                           As<T>(args.dx),   args.dweight,       args.dbias};
    Launch(Backward<T, is_layer(), packs()>, blocks, layout.block, stream, shape, typed, partials);
  });
  const int64_t rows = int64_t{blocks} * layout.block.y;
  ColumnSum(rows, shape.columns, partials, args.dweight, stream);
  if (args.dbias)
    ColumnSum(rows, shape.columns, partials + rows * shape.columns, args.dbias, stream);
}
}  // namespace shardplan::kernels
