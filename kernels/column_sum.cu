// SPDX-License-Identifier: Apache-2.0
#include "kernels/column_sum.h"
#include "kernels/device.cuh"

namespace shardplan::kernels {
namespace {

constexpr int kThreadRows = 32;

// A warp covers 32 columns, and the block's 32 warps take turns at the rows.
__global__ void SumColumns(int64_t rows, int64_t columns, const float* partials, float* out) {
  __shared__ float sums[kThreadRows][kWarp];
  const int64_t column = int64_t{blockIdx.x} * kWarp + threadIdx.x;
  float sum = 0;
  if (column < columns)
    for (int64_t row = threadIdx.y; row < rows; row += kThreadRows)
      sum += partials[row * columns + column];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int y = 1; y < kThreadRows; ++y) sum += sums[y][threadIdx.x];
  out[column] = sum;
}
}  // namespace

void ColumnSum(int64_t rows, int64_t columns, const float* partials, float* out, Stream stream) {
  SHARDPLAN_CHECK(rows > 0 && columns > 0 && columns % 4 == 0);
  Launch(SumColumns, GridOf(columns, kWarp), dim3(kWarp, kThreadRows), stream, rows, columns,
         partials, out);
}
}  // namespace shardplan::kernels
