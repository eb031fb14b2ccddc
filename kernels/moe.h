// SPDX-License-Identifier: Apache-2.0
// Routing of tokens to experts: the router's choice, the order by expert, and the moves of token
// rows into that order and back.
//
// Router:    each token picks its `top` largest logits (ties: the lower expert) and weighs them by
//            the softmax over all experts, renormalized over those picked where asked.
// Row map:   slot s of token t goes to row rows[t * top + s] of the permuted matrix, which holds
// the
//            experts' tokens one after another, each expert's in the order of the tokens.
// Permute:   y[rows[t, s]] = x[t]. Its gradient is Unpermute without weights.
// Unpermute: y[t] = sum over s of weight[t, s] * x[rows[t, s]]. Its gradient: PermuteScaled.
// Bytes moved at least, in token rows: permute 1 + top, unpermute top + 1, its gradient 1 + 2 top.
#pragma once
#include <cstdint>

#include "kernels/dtype.h"
#include "kernels/stream.h"

namespace shardplan::kernels {

struct MoeShape {
  int64_t tokens = 0;
  int64_t columns = 0;  // of a token's row: whole 16-byte packs
  int64_t experts = 0;  // at most 256
  int64_t top = 0;      // experts that a token picks, at most 16
  bool renormalize = true;
};

// logits: [tokens, experts], finite. experts and weights: [tokens, top], best first.
void RouterReference(const MoeShape& shape, const double* logits, int32_t* experts,
                     double* weights);
void RouterBackwardReference(const MoeShape& shape, const double* logits, const int32_t* experts,
                             const double* dweights, double* dlogits);
// counts: [experts], the tokens of each. rows: [tokens, top].
void MoeRowMapReference(const MoeShape& shape, const int32_t* experts, int32_t* counts,
                        int32_t* rows);
void PermuteReference(const MoeShape& shape, const double* x, const int32_t* rows, double* y);
// weights may be null: 1.
void UnpermuteReference(const MoeShape& shape, const double* x, const int32_t* rows,
                        const double* weights, double* y);
// dx[rows[t, s]] = weight[t, s] * dy[t];  dweights[t, s] = dy[t] . x[rows[t, s]]
void PermuteScaledReference(const MoeShape& shape, const double* dy, const double* x,
                            const int32_t* rows, const double* weights, double* dx,
                            double* dweights);

// Logits, weights and their gradients are fp32, as routers compute.
void Router(const MoeShape& shape, const float* logits, int32_t* experts, float* weights,
            Stream stream);
void RouterBackward(const MoeShape& shape, const float* logits, const int32_t* experts,
                    const float* dweights, float* dlogits, Stream stream);
void MoeRowMap(const MoeShape& shape, const int32_t* experts, int32_t* counts, int32_t* rows,
               Stream stream);
void Permute(const MoeShape& shape, DType dtype, const void* x, const int32_t* rows, void* y,
             Stream stream);
void Unpermute(const MoeShape& shape, DType dtype, const void* x, const int32_t* rows,
               const float* weights, void* y, Stream stream);
void PermuteScaled(const MoeShape& shape, DType dtype, const void* dy, const void* x,
                   const int32_t* rows, const float* weights, void* dx, float* dweights,
                   Stream stream);
}  // namespace shardplan::kernels
