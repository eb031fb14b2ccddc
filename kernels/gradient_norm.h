// SPDX-License-Identifier: Apache-2.0
// The norm of all gradients, and the factor that clips them to it.
//
// Two steps, because a sharded job sums the squares over its ranks in between. In a fixed order, so
// that a run repeats to the bit. Bytes moved at least: the gradients once.
#pragma once
#include <cstdint>

#include "kernels/dtype.h"
#include "kernels/multi_tensor.h"
#include "kernels/stream.h"

namespace shardplan::kernels {

struct NormTensor {
  const void* data;
  int64_t elements;
};

template <class Real>
double SumOfSquaresReference(int64_t elements, const Real* x);
// unscale * min(1, largest / (unscale * sqrt(sum))); NaN where the sum is not finite, which makes
// Adam skip the step. unscale: 1 over the loss scale.
double ClipScaleReference(double sum, double largest, double unscale);

// tensors, chunks, workspace and sum lie on the device.
inline int64_t SumOfSquaresWorkspace(int64_t chunk_count) { return chunk_count * 4; }  // bytes
void SumOfSquares(DType dtype, const NormTensor* tensors, const Chunk* chunks, int64_t chunk_count,
                  void* workspace, float* sum, Stream stream);
void ClipScale(const float* sum, float largest, float unscale, float* scale, Stream stream);
}  // namespace shardplan::kernels
