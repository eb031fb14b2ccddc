// SPDX-License-Identifier: Apache-2.0
// GPT-2 and its kin: LayerNorm, biases, an MLP without a gate; and Megatron's own GPT.
#include <algorithm>
#include <cmath>
#include <string>

#include "planner/model/families_shapes.h"

namespace shardplan {
namespace {

// Biases everywhere; each family below takes away or adds what its class does otherwise.
DecoderShape GptShape(const ConfigReader& config) {
  DecoderShape s = Sizes(config);
  s.norm = NormKind::kLayerNorm;
  s.gated = false;
  s.q_bias = s.kv_bias = s.out_bias = s.mlp_bias = true;
  return s;
}

void SetBiases(DecoderShape& s, bool bias) {
  s.q_bias = s.kv_bias = s.out_bias = s.mlp_bias = bias;
}

Activation ActivationOf(const ConfigReader& config) {
  return ActivationNamed(config.Word("hidden_act"));
}

// The class cuts hidden_size into heads of one size.
void SetPlainHeadDim(const ConfigReader& config, DecoderShape& s) {
  s.head_dim = std::max(1, s.hidden / s.heads);
  if (s.hidden % s.heads != 0)
    config.Refuse("num_attention_heads",
                  std::to_string(s.heads) + " does not divide " + config.NameOf("hidden_size") +
                      " (" + std::to_string(s.hidden) + ")",
                  "these work: " + DivisorsNear(s.hidden, s.heads));
  config.MustBe("head_dim", s.head_dim,
                std::string(config.model_type()) + " always has " + config.NameOf("hidden_size") +
                    " / " + config.NameOf("num_attention_heads"));
}

void AddPlainHeads(const ConfigReader& config, DecoderShape& s) {
  s.kv_heads = s.heads;
  SetPlainHeadDim(config, s);
  config.MustBe("num_key_value_heads", s.kv_heads,
                std::string(config.model_type()) +
                    " has no grouped heads; of the families with LayerNorm, megatron_gpt does");
}

// MPT's key of the MLP's width, a multiple of the model's.
int ExpandedWidth(const ConfigReader& config, int hidden) {
  const double width = config.Number("expansion_ratio", 0, 1000) * hidden;
  if (width >= 1 && width <= kMostWidth && width == std::floor(width))
    return static_cast<int>(width);
  config.Refuse("expansion_ratio", "does not make a whole number of " + std::to_string(hidden),
                "the MLP is that many times as wide as the model, usually 4");
  return 1;
}
}  // namespace

DecoderShape Gpt2Shape(const ConfigReader& config) {
  DecoderShape s = GptShape(config);
  s.packed_qkv = true;
  AddPlainHeads(config, s);
  s.activation = ActivationOf(config);
  s.rotary = false;
  s.learned_positions = s.max_positions;
  if (config.Flag("add_cross_attention"))
    config.Refuse("add_cross_attention", "is true: the decoder of an encoder-decoder model",
                  "those are not supported yet");
  return s;
}

DecoderShape GptNeoxShape(const ConfigReader& config) {
  DecoderShape s = GptShape(config);
  s.packed_qkv = true;
  AddPlainHeads(config, s);
  s.activation = ActivationOf(config);
  s.q_bias = s.kv_bias = s.out_bias = config.Flag("attention_bias");
  s.parallel_residual = config.Flag("use_parallel_residual");
  return s;
}

// Attention without biases, a head with one; attention and MLP read the same norm.
DecoderShape GptJShape(const ConfigReader& config) {
  DecoderShape s = GptShape(config);
  AddPlainHeads(config, s);
  s.activation = ActivationOf(config);
  s.q_bias = s.kv_bias = s.out_bias = false;
  s.parallel_residual = true;
  s.norms_per_layer = 1;
  s.head_bias = true;
  return s;
}

// ALiBi: no position has a parameter. The GELU is the class's own, written out.
DecoderShape BloomShape(const ConfigReader& config) {
  DecoderShape s = GptShape(config);
  s.packed_qkv = true;
  AddPlainHeads(config, s);
  s.activation = Activation::kUnfusedGelu;
  s.rotary = false;
  s.alibi = true;
  s.embedding_norm = true;
  return s;
}

DecoderShape OptShape(const ConfigReader& config) {
  constexpr int kPositionOffset = 2;  // rows of the table that padding once used
  DecoderShape s = GptShape(config);
  AddPlainHeads(config, s);
  s.activation = ActivationOf(config);
  SetBiases(s, config.Flag("enable_bias"));
  s.norm_weight = config.Flag("layer_norm_elementwise_affine");
  s.final_norm = config.Flag("do_layer_norm_before") && !config.Flag("_remove_final_layer_norm");
  s.rotary = false;
  s.learned_positions = s.max_positions + kPositionOffset;
  const int embedding_dim = config.SizeIfAny("word_embed_proj_dim").value_or(s.hidden);
  if (embedding_dim != s.hidden) s.embedding_dim = embedding_dim;
  return s;
}

// transformers' class has no biases, no position table and an MLP of 4h whatever the config says;
// what llm-foundry trains follows the config, and so does this.
DecoderShape MptShape(const ConfigReader& config) {
  DecoderShape s = GptShape(config);
  s.packed_qkv = true;
  s.activation = Activation::kGelu;
  const bool bias = !config.Flag("no_bias");
  SetBiases(s, bias);
  s.norm_bias = bias;
  const int ffn = ExpandedWidth(config, s.hidden);
  if (config.IsGiven("intermediate_size") && config.IsGiven("expansion_ratio"))
    config.MustBe("intermediate_size", ffn,
                  "expansion_ratio times " + config.NameOf("hidden_size") + " says otherwise");
  if (!config.IsGiven("intermediate_size")) s.ffn = ffn;

  const ConfigReader attention = config.Nested("attn_config");
  const std::string kind = attention.Choice(
      "attn_type", {"multihead_attention", "multiquery_attention", "grouped_query_attention"});
  SetPlainHeadDim(config, s);
  s.kv_heads = kind == "multiquery_attention"      ? 1
               : kind == "grouped_query_attention" ? attention.Size("kv_n_heads")
                                                   : s.heads;
  if (s.heads % s.kv_heads != 0)
    attention.Refuse(
        "kv_n_heads",
        std::to_string(s.kv_heads) + " does not divide the heads (" + std::to_string(s.heads) + ")",
        "these work: " + DivisorsNear(s.heads, s.kv_heads));
  config.MustBe("num_key_value_heads", s.kv_heads, "attn_config says so: attn_type " + kind);
  if (attention.Flag("qk_ln")) s.qk_norm = QkNorm::kFull;
  s.rotary = attention.Flag("rope");
  s.alibi = attention.Flag("alibi") && !s.rotary;
  const bool table = config.Flag("learned_pos_emb") && !attention.Flag("alibi") && !s.rotary;
  s.learned_positions = table ? s.max_positions : 0;
  return s;
}

// One, grouped or all key/value heads. Falcon's first configs have no new_decoder_architecture:
// their number of key/value heads says it.
DecoderShape FalconShape(const ConfigReader& config) {
  DecoderShape s = GptShape(config);
  s.packed_qkv = true;
  SetPlainHeadDim(config, s);
  s.activation = ActivationOf(config);
  SetBiases(s, config.Flag("bias"));
  s.rotary = !config.Flag("alibi");
  s.alibi = config.Flag("alibi");
  const int kv_heads = config.SizeIfAny("num_key_value_heads").value_or(s.heads);
  const bool grouped = kv_heads != 1 && kv_heads != s.heads;
  const bool multi_query = config.Flag("multi_query");
  const bool is_new = config.FlagIfAny("new_decoder_architecture")
                          .value_or(grouped && !config.IsGiven("multi_query"));
  s.kv_heads = is_new ? kv_heads : multi_query ? 1 : s.heads;
  if (grouped && !is_new)
    config.Refuse("num_key_value_heads",
                  std::to_string(kv_heads) + " needs new_decoder_architecture: true",
                  "without it there is one (multi_query) or as many as heads");
  if (s.heads % s.kv_heads != 0)
    config.Refuse("num_key_value_heads",
                  std::to_string(kv_heads) + " does not divide " +
                      config.NameOf("num_attention_heads") + " (" + std::to_string(s.heads) + ")",
                  "these work: " + DivisorsNear(s.heads, kv_heads));
  s.parallel_residual = is_new || config.Flag("parallel_attn");
  const int norms = config.SizeIfAny("num_ln_in_parallel_attn", 2).value_or(is_new ? 2 : 1);
  s.norms_per_layer = s.parallel_residual ? norms : 2;
  return s;
}

DecoderShape PhiShape(const ConfigReader& config) {
  DecoderShape s = GptShape(config);
  AddHeads(config, s);
  s.activation = ActivationOf(config);
  s.parallel_residual = true;
  s.norms_per_layer = 1;
  s.head_bias = true;
  if (config.Flag("qk_layernorm"))
    config.Refuse("qk_layernorm", "is true: LayerNorm of queries and keys is not supported yet",
                  "no published checkpoint of this family has it");
  return s;
}

// Megatron-LM's GPTModel by the names of its arguments.
DecoderShape MegatronGptShape(const ConfigReader& config) {
  DecoderShape s = GptShape(config);
  AddHeads(config, s);
  const std::string activation =
      config.Choice("activation", {"gelu", "swiglu", "geglu", "squared_relu", "relu", "silu",
                                   "reglu", "quick_gelu", "fast_gelu"});
  s.gated = activation == "swiglu" || activation == "geglu" || activation == "reglu";
  s.activation = activation == "swiglu" || activation == "silu"  ? Activation::kSilu
                 : activation == "squared_relu"                  ? Activation::kSquaredRelu
                 : activation == "relu" || activation == "reglu" ? Activation::kRelu
                                                                 : Activation::kGelu;
  const bool rms = config.Choice("normalization", {"layernorm", "rmsnorm"}) == "rmsnorm";
  s.norm = rms ? NormKind::kRms : NormKind::kLayerNorm;
  const std::string positions =
      config.Choice("position_embedding", {"learned_absolute", "rope", "none"});
  s.rotary = positions == "rope";
  s.learned_positions = positions == "learned_absolute" ? s.max_positions : 0;
  SetBiases(s, config.Flag("add_bias"));
  if (config.Flag("add_qkv_bias")) s.q_bias = s.kv_bias = true;
  if (config.Flag("qk_layernorm")) s.qk_norm = QkNorm::kPerHead;
  if (const std::optional<bool> untie = config.FlagIfAny("untie_embeddings_and_output_weights")) {
    if (config.IsGiven("tie_word_embeddings") && s.tied == *untie)
      config.Refuse("tie_word_embeddings", "contradicts untie_embeddings_and_output_weights",
                    "the two are opposites: give one");
    s.tied = !*untie;
  }
  s.window = Windows(config, s.layers, WindowWidth(config), [](int) { return true; });
  const int expert_ffn = config.SizeIfAny("moe_intermediate_size").value_or(s.ffn);
  const int first = config.Count("first_k_dense_replace", kMostLayers);
  AddExperts(config, s, expert_ffn, [first](int layer) { return layer >= first; });
  s.expert_bias = s.experts > 0 && s.mlp_bias;
  s.shared_ffn = s.experts > 0 ? config.Count("shared_expert_intermediate_size") : 0;
  s.mtp_layers = config.Count("num_nextn_predict_layers", kMostLayers);
  s.mtp_moe = s.experts > 0;
  return s;
}
}  // namespace shardplan
