// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/quantize.h"

namespace shardplan::kernels {

double AmaxReference(int64_t elements, const double* x) {
  double largest = 0;
  for (int64_t i = 0; i < elements; ++i) largest = std::max(largest, std::abs(x[i]));
  return largest;
}

void QuantizeInt8Reference(int64_t elements, const double* x, int8_t* y, double* scales) {
  for (int64_t block = 0; block < elements / kInt8Block; ++block) {
    const int64_t start = block * kInt8Block;
    const double scale = AmaxReference(kInt8Block, x + start) / 127;
    scales[block] = scale;
    for (int64_t i = start; i < start + kInt8Block; ++i)
      y[i] = static_cast<int8_t>(scale > 0 ? std::nearbyint(x[i] / scale) : 0);
  }
}

void DequantizeInt8Reference(int64_t elements, const int8_t* y, const double* scales, double* x) {
  for (int64_t i = 0; i < elements; ++i) x[i] = y[i] * scales[i / kInt8Block];
}
}  // namespace shardplan::kernels
