// SPDX-License-Identifier: Apache-2.0
// Decoder-only transformers: every family of them is this shape with other numbers.
//
// A family (model/families.cc) translates its config.json keys into a DecoderShape; BuildDecoder
// turns the shape into the model graph. Not a place for family names: a feature gets a field here.
#pragma once
#include <string>
#include <vector>

#include "planner/model/graph.h"

namespace shardplan {

enum class NormKind { kRms, kLayerNorm };
// kUnfused: written out in elementwise ops (gelu_new, gelu_fast, BLOOM's), which eager code keeps.
enum class Activation { kSilu, kGelu, kUnfusedGelu, kRelu, kSquaredRelu };
enum class QkNorm {
  kNone,
  kPerHead /* one weight of head_dim for all heads */,
  kFull /* heads x head_dim */
};

struct DecoderShape {
  std::string name, family;
  int hidden = 0, layers = 0, vocab = 0;
  int max_positions = 0;
  bool max_positions_given = false;  // by the config, not a default of its class
  std::vector<std::string> notes;    // what the config holds and the shape does not; for the user

  // Attention.
  int heads = 0, kv_heads = 0, head_dim = 0;
  bool q_bias = false, kv_bias = false, out_bias = false;
  QkNorm qk_norm = QkNorm::kNone;
  bool rotary = true;
  // One product makes q, k and v, resp. gate and up: under autocast it has one 16-bit input.
  bool packed_qkv = false, packed_gate_up = false;
  bool sinks = false;  // one learned logit a head (gpt_oss)
  bool alibi = false;  // a bias on each score instead of positions
  // Multi-head latent attention (DeepSeek-V2): used where kv_lora_rank > 0. q_lora_rank 0: none.
  int q_lora_rank = 0, kv_lora_rank = 0, qk_nope_head_dim = 0, qk_rope_head_dim = 0, v_head_dim = 0;

  // Per layer; empty: all layers see the whole sequence / all are dense.
  std::vector<int> window;  // 0: whole sequence
  std::vector<char> moe;    // 1: the MLP is a mixture of experts

  // MLP.
  int ffn = 0;
  Activation activation = Activation::kSilu;
  bool gated = true, mlp_bias = false;
  // Experts.
  int experts = 0, top_k = 0, expert_ffn = 0;
  double routed_share = 1;   // of the expert groups, that one token's experts lie in (V3: 4 of 8)
  int shared_ffn = 0;        // all shared experts together; 0: none
  bool shared_gate = false;  // Qwen2-MoE's sigmoid gate, h weights
  bool router_bias = false;  // gpt_oss's linear bias, DeepSeek-V3's correction bias
  bool expert_bias = false;

  // Norms.
  NormKind norm = NormKind::kRms;
  bool norm_bias = true;      // LayerNorm's bias; RMSNorm never has one
  bool norm_weight = true;    // OLMo-1's non-parametric norm has none
  bool norm_in_fp32 = false;  // Gemma's, whose weight is 1 + w: 16 bits again after the product
  int norms_per_layer = 2;    // 1: parallel attention and MLP share it; 4: Gemma-2/3's sandwich
  bool parallel_residual = false;  // attention and MLP read the same residual (phi, gptj, falcon)
  bool embedding_norm = false;     // BLOOM
  bool final_norm = true;

  // Embeddings and head.
  bool tied = false;
  bool soft_capped = false;  // logits through tanh, which keeps one more copy (Gemma-2)
  bool head_bias = false;
  int learned_positions = 0;  // rows of the position table, 0: none
  int embedding_dim = 0;      // OPT-350m's word_embed_proj_dim; 0: hidden
  int mtp_layers = 0;
  int mtp_moe = 0;  // MTP layers use the MoE block
};

Model BuildDecoder(const DecoderShape& shape);
}  // namespace shardplan
