// SPDX-License-Identifier: Apache-2.0
// Rows of ops that the blocks of a decoder are put together from. Private to planner/model.
//
// Which tensors a kernel set keeps is told by the numbers of planner/README.md, section "What each
// kernel set keeps".
#pragma once
#include <vector>

#include "planner/model/decoder.h"
#include "planner/model/graph.h"

namespace shardplan {

inline constexpr std::uint16_t kTorchUnfused = kEager | kTitan;
inline constexpr std::uint16_t kMegatronStyle =
    kTransformerEngine | kMegatronLocal | kNanotron | kNative;

// Parameters of one norm over `width`.
double NormParameters(const DecoderShape& s, double width);
// `consumers` products read the norm's output; under autocast each makes its own 16-bit copy.
Op Norm(const DecoderShape& s, const char* name, double consumers);
// A product of k inputs and n outputs: whole on each tensor-parallel rank, or cut by columns or
// rows.
Op Product(const char* name, double k, double n, bool bias);
Op Column(const char* name, double k, double n, bool bias);
Op Row(const char* name, double k, double n, bool bias);
// The add to the residual stream.
Op Residual(const DecoderShape& s, const char* name);

// Append the products, norms and positions of one attention and its core; `window` 0: whole
// sequence. LatentAttention is DeepSeek-V2's (arXiv 2405.04434), without weight absorption.
void Attention(const DecoderShape& s, double window, std::vector<Op>& ops);
void LatentAttention(const DecoderShape& s, double window, std::vector<Op>& ops);
// Append an MLP of width `ffn`; its ops name `parent` as the module around them.
void DenseMlp(const DecoderShape& s, double ffn, Module parent, std::vector<Op>& ops);
// Append router, exchanges, routed and shared experts.
void Experts(const DecoderShape& s, std::vector<Op>& ops);
}  // namespace shardplan
