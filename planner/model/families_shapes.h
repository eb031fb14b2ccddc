// SPDX-License-Identifier: Apache-2.0
// What the rows of families.cc point to, and the parts that their shapes share.
//
// Each function follows the modeling code of one class of transformers (version 5.24), or of the
// framework that its family is named after. Private to families*.cc.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "planner/model/config_reader.h"
#include "planner/model/decoder.h"

namespace shardplan {

// families_gpt.cc: LayerNorm, biases, a plain MLP of 4h.
DecoderShape Gpt2Shape(const ConfigReader& config);
DecoderShape GptNeoxShape(const ConfigReader& config);
DecoderShape GptJShape(const ConfigReader& config);
DecoderShape BloomShape(const ConfigReader& config);
DecoderShape OptShape(const ConfigReader& config);
DecoderShape MptShape(const ConfigReader& config);
DecoderShape FalconShape(const ConfigReader& config);
DecoderShape PhiShape(const ConfigReader& config);
DecoderShape MegatronGptShape(const ConfigReader& config);

// families_dense.cc: RMSNorm, rotary positions, a gated MLP.
DecoderShape LlamaShape(const ConfigReader& config);
DecoderShape MistralShape(const ConfigReader& config);
DecoderShape Qwen2Shape(const ConfigReader& config);
DecoderShape Qwen3Shape(const ConfigReader& config);
DecoderShape MimoShape(const ConfigReader& config);
DecoderShape Phi3Shape(const ConfigReader& config);
DecoderShape GemmaShape(const ConfigReader& config);
DecoderShape Gemma2Shape(const ConfigReader& config);
DecoderShape Gemma3Shape(const ConfigReader& config);

// families_moe.cc: the same with experts in some or all layers.
DecoderShape MixtralShape(const ConfigReader& config);
DecoderShape Qwen2MoeShape(const ConfigReader& config);
DecoderShape Qwen3MoeShape(const ConfigReader& config);
DecoderShape DeepseekShape(const ConfigReader& config);
DecoderShape DeepseekV3Shape(const ConfigReader& config);
DecoderShape GptOssShape(const ConfigReader& config);
DecoderShape Glm4MoeShape(const ConfigReader& config);
DecoderShape Llama4Shape(const ConfigReader& config);

// hidden_size, num_hidden_layers, vocab_size, max_position_embeddings, num_attention_heads,
// intermediate_size (null: 4 x hidden_size), tie_word_embeddings.
DecoderShape Sizes(const ConfigReader& config);
// num_key_value_heads (null: as many as heads), head_dim (null: hidden_size / heads).
void AddHeads(const ConfigReader& config, DecoderShape& shape);
// Both, hidden_act, and RMSNorm with a gated MLP: Llama's shape less its optional biases.
DecoderShape GatedShape(const ConfigReader& config);

// sliding_window; null and 0: none.
int WindowWidth(const ConfigReader& config);
// `width` where `windowed(layer)`, else 0; layer_types, where given, decides instead of `windowed`.
// No window at all: empty.
std::vector<int> Windows(const ConfigReader& config, int layers, int width,
                         const std::function<bool(int)>& windowed);

inline constexpr int kMostExperts = 100'000;
// num_local_experts, num_experts_per_tok; the layers where `sparse(layer)` get experts of `ffn`.
void AddExperts(const ConfigReader& config, DecoderShape& shape, int ffn,
                const std::function<bool(int)>& sparse);

// By transformers' name of an activation; an unknown one is taken for plain GELU.
Activation ActivationNamed(std::string_view name);
}  // namespace shardplan
