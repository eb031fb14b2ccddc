// SPDX-License-Identifier: Apache-2.0
// RMSNorm and LayerNorm over the rows of a matrix, with the residual addition before them fused in.
//
//   sum = x + residual                          (sum = x without a residual)
//   RMSNorm:   y = sum * rstd * weight,         rstd = 1 / sqrt(mean(sum^2) + epsilon)
//   LayerNorm: y = (sum - mean) * rstd * weight + bias
// Backward, for dy and the gradient dsum that reaches `sum` past the norm:
//   dx = dnorm(dy) + dsum                       (the gradient of x, and of residual)
// Bytes moved at least, in rows of data: forward 2 (4 with residual), backward 3 (4 with dsum).
#pragma once
#include <cstdint>

#include "kernels/dtype.h"
#include "kernels/stream.h"

namespace shardplan::kernels {

enum class NormKind { kRms, kLayer };

struct NormShape {
  NormKind kind = NormKind::kRms;
  int64_t rows = 0;
  int64_t columns = 0;  // whole 16-byte packs; at most 4096 of them
  float epsilon = 1e-5f;
};

// Null where it does not apply: residual and sum (no residual), bias and mean (RMSNorm).
// T: the data's format, also of weight and bias. mean and rstd: fp32, one a row.
template <class T, class Statistic>
struct NormForwardArgs {
  const T* x;
  const T* residual;
  const T* weight;
  const T* bias;
  T* sum;
  T* y;
  Statistic* mean;
  Statistic* rstd;
};
// sum: the forward's input to the norm. dsum, mean and dbias may be null as above.
template <class T, class Statistic>
struct NormBackwardArgs {
  const T* sum;
  const T* weight;
  const T* dy;
  const T* dsum;
  const Statistic* mean;
  const Statistic* rstd;
  T* dx;
  Statistic* dweight;  // fp32, columns of them, overwritten
  Statistic* dbias;
};

template <class Real = double>
void NormForwardReference(const NormShape& shape, const NormForwardArgs<Real, Real>& args);
template <class Real = double>
void NormBackwardReference(const NormShape& shape, const NormBackwardArgs<Real, Real>& args);

void NormForward(const NormShape& shape, DType dtype, const NormForwardArgs<void, float>& args,
                 Stream stream);
int64_t NormBackwardWorkspace(const NormShape& shape, DType dtype);  // bytes
void NormBackward(const NormShape& shape, DType dtype, const NormBackwardArgs<void, float>& args,
                  void* workspace, Stream stream);
}  // namespace shardplan::kernels
