// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/top_k.h"

namespace shardplan::kernels {

void TopKReference(int64_t elements, int64_t k, double* x, int32_t* indices, double* values) {
  std::vector<int32_t> order(static_cast<size_t>(elements));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return std::abs(x[a]) > std::abs(x[b]); });
  for (int64_t i = 0; i < k; ++i) {
    indices[i] = order[static_cast<size_t>(i)];
    values[i] = x[indices[i]];
    x[indices[i]] = 0;
  }
}
}  // namespace shardplan::kernels
