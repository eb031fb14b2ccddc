// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention by cuDNN's fused kernels, forward and backward.
//
//   y[q] = sum over keys p[q, key] v[key],   p = softmax over keys of (q . key) * scale
// Queries are [batch, seq, heads, head_dim], keys and values [batch, seq, kv_heads, head_dim]; each
// key head serves heads / kv_heads query heads. Causal: a query sees the keys up to its own.
// `lse` is the logarithm of each softmax's denominator, [batch, heads, seq] in fp32: all that the
// backward needs beside its inputs and y.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/dtype.h"
#include "kernels/stream.h"
#include "planner/base/result.h"

namespace shardplan::kernels {

struct AttentionShape {
  int64_t batch = 1;
  int64_t seq = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  bool causal = true;
};

template <class Real>
void AttentionForwardReference(const AttentionShape& shape, const Real* q, const Real* k,
                               const Real* v, Real* y, Real* lse);
template <class Real>
void AttentionBackwardReference(const AttentionShape& shape, const Real* q, const Real* k,
                                const Real* v, const Real* y, const Real* lse, const Real* dy,
                                Real* dq, Real* dk, Real* dv);

// fp16 or bf16. One shape's kernels, chosen once; not for two threads at once.
class Attention {
 public:
  enum class Pass { kForward, kBackward };
  static Result<Attention> Make(const AttentionShape& shape, DType dtype, Pass pass);
  Attention(Attention&&) noexcept;
  Attention& operator=(Attention&&) noexcept;
  ~Attention();

  int64_t Workspace() const;  // bytes
  Result<void> Forward(const void* q, const void* k, const void* v, void* y, float* lse,
                       void* workspace, Stream stream) const;
  Result<void> Backward(const void* q, const void* k, const void* v, const void* y,
                        const float* lse, const void* dy, void* dq, void* dk, void* dv,
                        void* workspace, Stream stream) const;

 private:
  struct Plan;
  explicit Attention(std::unique_ptr<Plan> plan);
  std::unique_ptr<Plan> plan_;
};

// "9.19.0", as the library that is loaded says.
std::string CudnnVersion();
}  // namespace shardplan::kernels
