// SPDX-License-Identifier: Apache-2.0
#include "probe/passes.h"

namespace shardplan::probe {

const std::vector<Pass>& Passes() {
  static const std::vector<Pass> passes{
      {"rms_norm", 2, 0, 4},
      {"rms_norm_residual", 4, 0, 4},
      {"rms_norm_backward", 4, 0, 4},  // with the residual's gradient added
      {"layer_norm", 2, 0, 8},
      {"layer_norm_residual", 4, 0, 8},
      {"layer_norm_backward", 4, 0, 8},
      {"rotary", 2, 0, 0},  // its backward is the same kernel
      {"swiglu", 3, 0, 0},
      {"swiglu_backward", 5, 0, 0},
      {"gelu", 2, 0, 0},
      {"gelu_backward", 3, 0, 0},
      {"cross_entropy", 1, 0, 16},
      {"cross_entropy_backward", 2, 0, 16},
      {"embedding", 2, 0, 4},
      {"embedding_backward", 1, 8, 4},  // onto fp32
      {"moe_permute", 1 + kPassTopExperts, 0, 4 * kPassTopExperts},
      {"moe_unpermute", kPassTopExperts + 1, 0, 8 * kPassTopExperts},
      {"moe_unpermute_backward", 1 + 2 * kPassTopExperts, 0, 12 * kPassTopExperts},
      {"adamw", 7, 0, 0},          // parameter, gradient and moments in the dtype
      {"adamw_master", 1, 28, 0},  // fp32 gradient, moments and master beside the parameter
      {"gradient_norm", 1, 0, 0},
      {"cast_to_fp32", 1, 4, 0},
      {"cast_to_bf16", 1, 2, 0},
      {"quantize_fp8", 1, 1, 0},
      {"quantize_int8", 1, 1 + 4 / 256.0, 0},
      {"dequantize_int8", 1, 1 + 4 / 256.0, 0},
      {"top_k", 3, 0, 0},  // two look, one takes; in fp32 a third looks
  };
  return passes;
}

const Pass* FindPass(std::string_view name) {
  for (const Pass& pass : Passes())
    if (pass.name == name) return &pass;
  return nullptr;
}

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const Pass& pass : Passes()) names.emplace_back(pass.name);
  return names;
}

double BytesOf(const Pass& pass, const ElementwiseShape& shape) {
  const auto elements = static_cast<double>(shape.elements);
  const double rows = elements / static_cast<double>(shape.width);
  return elements * (pass.data * static_cast<double>(SizeOf(shape.dtype)) + pass.fixed) +
         rows * pass.row;
}
}  // namespace shardplan::probe
