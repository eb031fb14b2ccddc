// SPDX-License-Identifier: Apache-2.0
// Activations of the feed-forward layer: SwiGLU and GELU with its bias.
//
//   SwiGLU: y = silu(gate) * up,  silu(x) = x / (1 + exp(-x))
//   GELU:   y = gelu(x + bias), exactly (erf) or with tanh, as Megatron's fused kernel has it
// Bytes moved at least, in rows of y: SwiGLU 3 forward, 5 backward; GELU 2 forward, 3 backward.
#pragma once
#include <cstdint>
#include <type_traits>

#include "kernels/dtype.h"
#include "kernels/stream.h"

namespace shardplan::kernels {

// gate and up, and their gradients: rows `input_stride` elements apart, so that they can lie in one
// fused projection. y and dy: contiguous.
struct SwiGluShape {
  int64_t rows = 0;
  int64_t columns = 0;  // whole 16-byte packs, as input_stride
  int64_t input_stride = 0;
};
template <class Real>
void SwiGluForwardReference(const SwiGluShape& shape, const Real* gate, const Real* up, Real* y);
template <class Real>
void SwiGluBackwardReference(const SwiGluShape& shape, const Real* gate, const Real* up,
                             const Real* dy, Real* dgate, Real* dup);

void SwiGluForward(const SwiGluShape& shape, DType dtype, const void* gate, const void* up, void* y,
                   Stream stream);
void SwiGluBackward(const SwiGluShape& shape, DType dtype, const void* gate, const void* up,
                    const void* dy, void* dgate, void* dup, Stream stream);

enum class GeluKind { kErf, kTanh };

struct GeluShape {
  GeluKind kind = GeluKind::kErf;
  int64_t rows = 0;
  int64_t columns = 0;  // whole 16-byte packs
};
// bias and dbias may be null. dbias is overwritten: fp32 on the GPU.
template <class Real>
void GeluForwardReference(const GeluShape& shape, const Real* x,
                          const std::type_identity_t<Real>* bias, Real* y);
template <class Real>
void GeluBackwardReference(const GeluShape& shape, const Real* x,
                           const std::type_identity_t<Real>* bias, const Real* dy, Real* dx,
                           std::type_identity_t<Real>* dbias);

void GeluForward(const GeluShape& shape, DType dtype, const void* x, const void* bias, void* y,
                 Stream stream);
int64_t GeluBackwardWorkspace(const GeluShape& shape, DType dtype);  // bytes
void GeluBackward(const GeluShape& shape, DType dtype, const void* x, const void* bias,
                  const void* dy, void* dx, float* dbias, void* workspace, Stream stream);
}  // namespace shardplan::kernels
