// SPDX-License-Identifier: Apache-2.0
// Matrix products by cuBLASLt, as a linear layer's forward and two backward passes ask for them.
//
// Row-major: C[m, n] = op(A)[m, k] * op(B)[k, n], `batch` of them one after another in memory.
//   kForward  y = x W^T    A = x  [m, k]   B = W  [n, k]     m tokens, k inputs, n outputs
//   kInput    dx = dy W    A = dy [m, k]   B = W  [k, n]     m tokens, k outputs, n inputs
//   kWeight   dW = dy^T x  A = dy [k, m]   B = x  [k, n]     k tokens, m outputs, n inputs
// (cuBLAS, which counts by columns, calls them TN, NN and NT.)
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/stream.h"
#include "planner/base/result.h"

namespace shardplan::kernels {

enum class GemmPass { kForward, kInput, kWeight };

// Inputs and arithmetic; sums are fp32. kFloat8: e4m3 in, bf16 out, kForward only (Hopper's 8-bit
// units read both operands along k).
enum class GemmType { kFloat32, kTf32, kFloat16, kBFloat16, kFloat8 };

struct GemmShape {
  GemmPass pass = GemmPass::kForward;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch = 1;
};

const char* NameOf(GemmPass pass);    // forward, input, weight
const char* NameOf(GemmType type);    // fp32, tf32, fp16, bf16, fp8
int64_t InputSizeOf(GemmType type);   // bytes of an element of A and B
int64_t OutputSizeOf(GemmType type);  // and of C

void GemmReference(const GemmShape& shape, const double* a, const double* b, double* c);

// What PyTorch gives cuBLASLt on Hopper; less can rule out the fastest kernels.
inline constexpr int64_t kGemmWorkspace = 32 << 20;  // bytes

// One shape's kernel, chosen once. Not for two threads at once.
class Gemm {
 public:
  // `candidates` of the heuristic's best are kept for Measure; the first is run without it.
  static Result<Gemm> Make(const GemmShape& shape, GemmType type, int candidates = 1);
  Gemm(Gemm&&) noexcept;
  Gemm& operator=(Gemm&&) noexcept;
  ~Gemm();

  // Times each candidate on these buffers and keeps the fastest. Waits for the stream.
  Result<void> Measure(const void* a, const void* b, void* c, void* workspace, Stream stream);
  // scale_a and scale_b: fp8 only, floats on the device that A and B are multiplied with.
  Result<void> Run(const void* a, const void* b, void* c, void* workspace, Stream stream,
                   const float* scale_a = nullptr, const float* scale_b = nullptr) const;

 private:
  struct Plan;
  explicit Gemm(std::unique_ptr<Plan> plan);
  std::unique_ptr<Plan> plan_;
};

// "13.1.0", as the library that is loaded says.
std::string CublasLtVersion();
}  // namespace shardplan::kernels
