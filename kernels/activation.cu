// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation.h"
#include "kernels/column_sum.h"
#include "kernels/device.cuh"

namespace shardplan::kernels {
namespace {

constexpr int kThreads = 256;

__device__ float Sigmoid(float x) { return Reciprocal(1.f + PowerOfTwo(-kLog2E * x)); }

// One pack of y a thread. The packs of a row rarely fill whole blocks, so threads count through
// the matrix and not along rows.
struct Place {
  int64_t row;
  int64_t column;  // in packs
};
__device__ Place PlaceOf(uint32_t index, uint32_t packs) {
  const uint32_t row = index / packs;
  return {row, index - row * packs};
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    SwiGlu(SwiGluShape shape, const T* gate, const T* up, T* y) {
  const auto packs = static_cast<uint32_t>(shape.columns / kLanes<T>);
  const uint32_t index = blockIdx.x * kThreads + threadIdx.x;
  if (index >= shape.rows * packs) return;
  const Place place = PlaceOf(index, packs);
  const int64_t in = place.row * (shape.input_stride / kLanes<T>)+place.column;
  const Pack<T> g = Packs(gate)[in];
  const Pack<T> u = Packs(up)[in];
  Pack<T> out;
  for (int j = 0; j < kLanes<T>; ++j) out.Set(j, g[j] * Sigmoid(g[j]) * u[j]);
  Packs(y)[index] = out;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    SwiGluGradient(SwiGluShape shape, const T* gate, const T* up, const T* dy, T* dgate, T* dup) {
  const auto packs = static_cast<uint32_t>(shape.columns / kLanes<T>);
  const uint32_t index = blockIdx.x * kThreads + threadIdx.x;
  if (index >= shape.rows * packs) return;
  const Place place = PlaceOf(index, packs);
  const int64_t in = place.row * (shape.input_stride / kLanes<T>)+place.column;
  const Pack<T> g = Packs(gate)[in];
  const Pack<T> u = Packs(up)[in];
  const Pack<T> d = Packs(dy)[index];
  Pack<T> dg;
  Pack<T> du;
  for (int j = 0; j < kLanes<T>; ++j) {
    const float s = Sigmoid(g[j]);
    dg.Set(j, d[j] * u[j] * s * (1.f + g[j] * (1.f - s)));
    du.Set(j, d[j] * g[j] * s);
  }
  Packs(dgate)[in] = dg;
  Packs(dup)[in] = du;
}

constexpr float kSqrtTwoOverPi = 0.7978845608f;
constexpr float kCubic = 0.044715f;
constexpr float kSqrtHalf = 0.7071067812f;
constexpr float kInverseSqrtTwoPi = 0.3989422804f;

// (1 + tanh(u)) / 2 for u = sqrt(2 / pi) (x + c x^3) is the sigmoid of 2u: no cancellation where
// tanh nears -1. Beyond 2^80 the power changes nothing and could overflow a product.
__device__ float TanhPower(float x) {
  constexpr float kLinear = -2.f * kLog2E * kSqrtTwoOverPi;
  return PowerOfTwo(fminf(x * (kLinear + kLinear * kCubic * x * x), 80.f));
}

template <GeluKind kKind>
__device__ float Gelu(float x) {
  if (kKind == GeluKind::kTanh) return x * Reciprocal(1.f + TanhPower(x));
  return 0.5f * x * (1.f + erff(x * kSqrtHalf));
}
template <GeluKind kKind>
__device__ float GeluSlope(float x) {
  if (kKind == GeluKind::kTanh) {
    const float power = TanhPower(x);
    const float share = Reciprocal(1.f + power);
    const float inner = 2.f * kSqrtTwoOverPi * (1.f + 3.f * kCubic * x * x);
    return share + x * (share * (power * share)) * inner;
  }
  return 0.5f * (1.f + erff(x * kSqrtHalf)) + x * kInverseSqrtTwoPi * __expf(-0.5f * x * x);
}

template <class T, GeluKind kKind>
__global__ void __launch_bounds__(kThreads)
    GeluOf(GeluShape shape, const T* x, const T* bias, T* y) {
  const auto packs = static_cast<uint32_t>(shape.columns / kLanes<T>);
  const uint32_t index = blockIdx.x * kThreads + threadIdx.x;
  if (index >= shape.rows * packs) return;
  Pack<T> in = Packs(x)[index];
  if (bias) {
    const Pack<T> b = Packs(bias)[index % packs];
    for (int j = 0; j < kLanes<T>; ++j) in.Set(j, Gelu<kKind>(in[j] + b[j]));
  } else {
    for (int j = 0; j < kLanes<T>; ++j) in.Set(j, Gelu<kKind>(in[j]));
  }
  Packs(y)[index] = in;
}

// A thread walks down one column of packs, a block's rows apart, and sums the bias's gradient on
// the way; block row blockIdx.y writes one row of `partials`.
template <class T, GeluKind kKind>
__global__ void __launch_bounds__(kThreads)
    GeluGradient(GeluShape shape, const T* __restrict__ x, const T* bias, const T* __restrict__ dy,
                 T* __restrict__ dx, float* partials) {
  const int64_t packs = shape.columns / kLanes<T>;
  const int64_t column = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (column >= packs) return;
  Floats<kLanes<T>> shift = {};
  if (bias) {
    const Pack<T> b = Packs(bias)[column];
    for (int j = 0; j < kLanes<T>; ++j) shift.lane[j] = b[j];
  }
  Floats<kLanes<T>> sum = {};
#pragma unroll 4
  for (int64_t row = blockIdx.y; row < shape.rows; row += gridDim.y) {
    const Pack<T> in = Packs(x)[row * packs + column];
    Pack<T> d = Packs(dy)[row * packs + column];
    for (int j = 0; j < kLanes<T>; ++j) {
      const float gradient = d[j] * GeluSlope<kKind>(in[j] + shift.lane[j]);
      d.Set(j, gradient);
      sum.lane[j] += gradient;
    }
    Packs(dx)[row * packs + column] = d;
  }
  if (partials) StoreFloats(partials + blockIdx.y * shape.columns + column * kLanes<T>, sum);
}

// Block rows that give each multiprocessor six blocks, all resident at once.
dim3 GradientGrid(const GeluShape& shape, DType dtype) {
  const unsigned across = GridOf(shape.columns * SizeOf(dtype) / 16, kThreads);
  const int64_t down = CeilDiv<int64_t>(6 * MultiprocessorCount(), across);
  return {across, static_cast<unsigned>(std::min(down, shape.rows))};
}

int64_t CheckedPacks(int64_t rows, int64_t columns, DType dtype) {
  const int64_t bytes = columns * SizeOf(dtype);
  SHARDPLAN_CHECK(rows > 0 && bytes > 0 && bytes % 16 == 0);
  SHARDPLAN_CHECK(rows * (bytes / 16) < (int64_t{1} << 32) - kThreads);
  return rows * (bytes / 16);
}

template <class Body>
void DispatchGelu(GeluKind kind, Body&& body) {
  if (kind == GeluKind::kTanh)
    body(std::integral_constant<GeluKind, GeluKind::kTanh>{});
  else
    body(std::integral_constant<GeluKind, GeluKind::kErf>{});
}
}  // namespace

void SwiGluForward(const SwiGluShape& shape, DType dtype, const void* gate, const void* up, void* y,
                   Stream stream) {
  SHARDPLAN_CHECK(shape.input_stride * SizeOf(dtype) % 16 == 0);
  const unsigned blocks = GridOf(CheckedPacks(shape.rows, shape.columns, dtype), kThreads);
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(SwiGlu<T>, blocks, kThreads, stream, shape, As<T>(gate), As<T>(up), As<T>(y));
  });
}

void SwiGluBackward(const SwiGluShape& shape, DType dtype, const void* gate, const void* up,
                    const void* dy, void* dgate, void* dup, Stream stream) {
  SHARDPLAN_CHECK(shape.input_stride * SizeOf(dtype) % 16 == 0);
  const unsigned blocks = GridOf(CheckedPacks(shape.rows, shape.columns, dtype), kThreads);
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Launch(SwiGluGradient<T>, blocks, kThreads, stream, shape, As<T>(gate), As<T>(up), As<T>(dy),
           As<T>(dgate), As<T>(dup));
  });
}

void GeluForward(const GeluShape& shape, DType dtype, const void* x, const void* bias, void* y,
                 Stream stream) {
  const unsigned blocks = GridOf(CheckedPacks(shape.rows, shape.columns, dtype), kThreads);
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    DispatchGelu(shape.kind, [&](auto kind) {
      Launch(GeluOf<T, kind()>, blocks, kThreads, stream, shape, As<T>(x), As<T>(bias), As<T>(y));
    });
  });
}

int64_t GeluBackwardWorkspace(const GeluShape& shape, DType dtype) {
  return GradientGrid(shape, dtype).y * shape.columns * 4;
}

void GeluBackward(const GeluShape& shape, DType dtype, const void* x, const void* bias,
                  const void* dy, void* dx, float* dbias, void* workspace, Stream stream) {
  CheckedPacks(shape.rows, shape.columns, dtype);
  const dim3 grid = GradientGrid(shape, dtype);
  float* partials = dbias ? static_cast<float*>(workspace) : nullptr;
  Dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    DispatchGelu(shape.kind, [&](auto kind) {
      Launch(GeluGradient<T, kind()>, grid, kThreads, stream, shape, As<T>(x), As<T>(bias),
             As<T>(dy), As<T>(dx), partials);
    });
  });
  if (dbias) ColumnSum(grid.y, shape.columns, partials, dbias, stream);
}
}  // namespace shardplan::kernels
