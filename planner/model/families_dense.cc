// SPDX-License-Identifier: Apache-2.0
// Llama and its kin: RMSNorm before each part, rotary positions, a gated MLP without biases.
#include "planner/model/families_shapes.h"

namespace shardplan {
namespace {

void AddAttentionBias(const ConfigReader& config, DecoderShape& s) {
  s.q_bias = s.kv_bias = s.out_bias = config.Flag("attention_bias");
}
}  // namespace

DecoderShape LlamaShape(const ConfigReader& config) {
  DecoderShape s = GatedShape(config);
  AddAttentionBias(config, s);
  s.mlp_bias = config.Flag("mlp_bias");
  return s;
}

DecoderShape MistralShape(const ConfigReader& config) {
  DecoderShape s = GatedShape(config);
  s.window = Windows(config, s.layers, WindowWidth(config), [](int) { return true; });
  return s;
}

// The q, k and v projections have biases, and no key says so.
DecoderShape Qwen2Shape(const ConfigReader& config) {
  DecoderShape s = GatedShape(config);
  s.q_bias = s.kv_bias = true;
  const int width = config.Flag("use_sliding_window") ? WindowWidth(config) : 0;
  const int first = config.Count("max_window_layers", kMostLayers);
  s.window = Windows(config, s.layers, width, [first](int layer) { return layer >= first; });
  return s;
}

DecoderShape Qwen3Shape(const ConfigReader& config) {
  DecoderShape s = Qwen2Shape(config);
  AddAttentionBias(config, s);
  s.qk_norm = QkNorm::kPerHead;
  return s;
}

// Qwen2 with DeepSeek-V3's multi-token prediction.
DecoderShape MimoShape(const ConfigReader& config) {
  DecoderShape s = Qwen2Shape(config);
  s.q_bias = s.kv_bias = config.Flag("attention_bias");
  s.mtp_layers = config.Count("num_nextn_predict_layers", kMostLayers);
  return s;
}

// Phi-3 stores q, k, v and gate, up as one matrix each: the same parameters.
DecoderShape Phi3Shape(const ConfigReader& config) {
  DecoderShape s = MistralShape(config);
  s.packed_qkv = s.packed_gate_up = true;
  return s;
}

DecoderShape GemmaShape(const ConfigReader& config) {
  DecoderShape s = GatedShape(config);
  AddAttentionBias(config, s);
  s.norm_in_fp32 = true;
  return s;
}

// Every second layer has a window; norms before and after each part.
DecoderShape Gemma2Shape(const ConfigReader& config) {
  DecoderShape s = GemmaShape(config);
  s.norms_per_layer = 4;
  s.soft_capped = config.NumberIfAny("final_logit_softcapping", 0, 1e6).has_value();
  s.window = Windows(config, s.layers, WindowWidth(config), [](int i) { return i % 2 == 0; });
  return s;
}

// One layer in six (sliding_window_pattern) sees the whole sequence.
DecoderShape Gemma3Shape(const ConfigReader& config) {
  DecoderShape s = GemmaShape(config);
  s.norms_per_layer = 4;
  s.qk_norm = QkNorm::kPerHead;
  const int pattern = config.Size("sliding_window_pattern", kMostLayers);
  s.window = Windows(config, s.layers, WindowWidth(config),
                     [pattern](int i) { return (i + 1) % pattern != 0; });
  return s;
}
}  // namespace shardplan
