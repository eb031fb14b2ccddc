// SPDX-License-Identifier: Apache-2.0
// One step of Adam or AdamW over many tensors in one launch.
//
//   g = gradient * scale;   Adam: g += decay * w;   AdamW: w -= rate * decay * w
//   m = beta1 m + (1 - beta1) g;   v = beta2 v + (1 - beta2) g^2
//   w -= rate * (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + epsilon)
// w is the master where there is one, and the parameter its rounding; else the parameter itself.
// Bytes moved at least: each of gradient, m, v and w (master or parameter) read, all but the
// gradient written, and the parameter written where there is a master.
#pragma once
#include <cstdint>

#include "kernels/dtype.h"
#include "kernels/multi_tensor.h"
#include "kernels/stream.h"

namespace shardplan::kernels {

struct AdamSettings {
  bool decoupled = true;  // AdamW
  double rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double decay = 0.01;
  int64_t step = 1;  // counted from 1
};
struct AdamFormats {
  DType parameter = DType::kBFloat16;
  DType gradient = DType::kFloat32;  // fp32, or the parameter's
  DType moment = DType::kFloat32;    // fp32 or bf16
};
struct AdamTensor {
  void* parameter;
  float* master;  // null: the parameter is its own
  const void* gradient;
  void* first_moment;
  void* second_moment;
  int64_t elements;
};

// One tensor of `elements`; all in double, and so without rounding of parameter or moments.
template <class Real>
void AdamReference(const AdamSettings& settings, int64_t elements, const Real* gradient,
                   Real* weight, Real* first_moment, Real* second_moment);

// tensors and chunks (ChunksOf their sizes) lie on the device. scale, on the device too, may be
// null: 1. A scale that is not finite leaves everything as it was: an overflow under loss scaling.
void Adam(const AdamSettings& settings, const AdamFormats& formats, const AdamTensor* tensors,
          const Chunk* chunks, int64_t chunk_count, const float* scale, Stream stream);
}  // namespace shardplan::kernels
