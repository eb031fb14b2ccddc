// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.h"

namespace shardplan::kernels {

const char* NameOf(GemmPass pass) {
  constexpr const char* kNames[] = {"forward", "input", "weight"};
  return kNames[static_cast<int>(pass)];
}
const char* NameOf(GemmType type) {
  constexpr const char* kNames[] = {"fp32", "tf32", "fp16", "bf16", "fp8"};
  return kNames[static_cast<int>(type)];
}
int64_t InputSizeOf(GemmType type) {
  if (type == GemmType::kFloat8) return 1;
  return type == GemmType::kFloat32 || type == GemmType::kTf32 ? 4 : 2;
}
int64_t OutputSizeOf(GemmType type) {
  return type == GemmType::kFloat32 || type == GemmType::kTf32 ? 4 : 2;
}

void GemmReference(const GemmShape& shape, const double* a, const double* b, double* c) {
  const auto [pass, m, n, k, batch] = shape;
  const bool is_a_transposed = pass == GemmPass::kWeight;
  const bool is_b_transposed = pass == GemmPass::kForward;
  for (int64_t z = 0; z < batch; ++z, a += m * k, b += k * n, c += m * n)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += a[is_a_transposed ? l * m + i : i * k + l] *
                 b[is_b_transposed ? j * k + l : l * n + j];
        c[i * n + j] = sum;
      }
}
}  // namespace shardplan::kernels
