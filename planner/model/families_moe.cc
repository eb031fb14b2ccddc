// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts: which layers are sparse, what each expert and the shared ones are.
#include <set>
#include <string>
#include <utility>

#include "planner/model/families_shapes.h"

namespace shardplan {
namespace {

std::string Text(int number) { return std::to_string(number); }

// Qwen's rule: each decoder_sparse_step-th layer, less those in mlp_only_layers.
std::function<bool(int)> QwenSparsity(const ConfigReader& config) {
  const int step = config.Size("decoder_sparse_step", kMostLayers);
  const std::vector<int> listed = config.Integers("mlp_only_layers", kMostLayers);
  return [step, dense = std::set<int>(listed.begin(), listed.end())](int layer) {
    return (layer + 1) % step == 0 && !dense.contains(layer);
  };
}

// DeepSeek's rule: dense layers first, then each moe_layer_freq-th; or Megatron's list of 0 and 1.
std::function<bool(int)> DeepseekSparsity(const ConfigReader& config, int layers) {
  const int first = config.Count("first_k_dense_replace", kMostLayers);
  if (config.IsList("moe_layer_freq")) {
    std::vector<int> list = config.Integers("moe_layer_freq", 1);
    if (list.size() < static_cast<std::size_t>(layers)) {
      config.Refuse("moe_layer_freq",
                    "lists " + std::to_string(list.size()) + " layers of " + Text(layers),
                    "give a 0 (dense) or 1 (experts) for each layer, or one number");
      list.resize(static_cast<std::size_t>(layers));
    }
    return [first, list = std::move(list)](int layer) {
      return layer >= first && list[static_cast<std::size_t>(layer)] != 0;
    };
  }
  const int frequency = config.Size("moe_layer_freq", kMostLayers);
  return [first, frequency](int layer) { return layer >= first && layer % frequency == 0; };
}

int SharedWidth(const ConfigReader& config, int expert_ffn) {
  constexpr double kMost = 100'000'000;
  const int shared = config.Count("n_shared_experts", kMostExperts);
  if (static_cast<double>(shared) * expert_ffn <= kMost) return shared * expert_ffn;
  config.Refuse("n_shared_experts",
                Text(shared) + " of moe_intermediate_size " + Text(expert_ffn) + " are too wide",
                "real models have one to four");
  return 0;
}

// DeepSeek's module repeats a sparse layer.
void AddMtp(const ConfigReader& config, DecoderShape& s) {
  s.mtp_layers = config.Count("num_nextn_predict_layers", kMostLayers);
  s.mtp_moe = s.experts > 0;
}
}  // namespace

DecoderShape MixtralShape(const ConfigReader& config) {
  DecoderShape s = GatedShape(config);
  s.window = Windows(config, s.layers, WindowWidth(config), [](int) { return true; });
  AddExperts(config, s, s.ffn, [](int) { return true; });
  return s;
}

// intermediate_size is the dense layers', where there are any.
DecoderShape Qwen2MoeShape(const ConfigReader& config) {
  DecoderShape s = GatedShape(config);
  s.q_bias = s.kv_bias = config.Flag("qkv_bias");
  const bool windowed = config.Flag("use_sliding_window");
  const int first_full = config.Count("max_window_layers", kMostLayers);
  s.window = Windows(config, s.layers, windowed ? WindowWidth(config) : 0,
                     [first_full](int i) { return i % 2 == 0 && i < first_full; });
  AddExperts(config, s, config.Size("moe_intermediate_size"), QwenSparsity(config));
  s.shared_ffn = config.Count("shared_expert_intermediate_size");
  s.shared_gate = s.shared_ffn > 0;
  return s;
}

DecoderShape Qwen3MoeShape(const ConfigReader& config) {
  DecoderShape s = GatedShape(config);
  s.q_bias = s.kv_bias = s.out_bias = config.Flag("attention_bias");
  s.qk_norm = QkNorm::kPerHead;
  const bool windowed = config.Flag("use_sliding_window");
  s.window =
      Windows(config, s.layers, windowed ? WindowWidth(config) : 0, [](int) { return true; });
  AddExperts(config, s, config.Size("moe_intermediate_size"), QwenSparsity(config));
  return s;
}

// Multi-head latent attention: keys and values are expanded to all heads.
DecoderShape DeepseekShape(const ConfigReader& config) {
  DecoderShape s = Sizes(config);
  s.activation = ActivationNamed(config.Word("hidden_act"));
  s.kv_heads = s.heads;
  config.MustBe("num_key_value_heads", s.heads,
                "latent attention has one key and value per head: give it as " +
                    config.NameOf("num_attention_heads") + ", or not at all");
  s.q_lora_rank = config.Count("q_lora_rank");
  s.kv_lora_rank = config.Size("kv_lora_rank");
  s.qk_nope_head_dim = config.Size("qk_nope_head_dim");
  s.qk_rope_head_dim = config.Size("qk_rope_head_dim");
  s.v_head_dim = config.Size("v_head_dim");
  s.head_dim = s.qk_nope_head_dim + s.qk_rope_head_dim;
  const int given = config.SizeIfAny("head_dim").value_or(s.head_dim);
  if (given != s.head_dim && given != s.qk_nope_head_dim && given != s.qk_rope_head_dim &&
      given != s.v_head_dim)
    config.Refuse("head_dim", Text(given) + " is none of this model's head sizes",
                  "leave it out: qk_nope_head_dim, qk_rope_head_dim and v_head_dim say it");
  const bool bias = config.Flag("attention_bias");
  s.q_bias = bias && s.q_lora_rank > 0;  // the full-rank q projection has none
  s.kv_bias = s.out_bias = bias;
  s.mlp_bias = config.Flag("mlp_bias");
  const int expert_ffn = config.Size("moe_intermediate_size");
  AddExperts(config, s, expert_ffn, DeepseekSparsity(config, s.layers));
  s.shared_ffn = s.experts > 0 ? SharedWidth(config, expert_ffn) : 0;
  AddMtp(config, s);
  return s;
}

// The correction bias that balances the experts: no gradient reaches it, and transformers holds it
// as a buffer, but DeepSeek's code and its count of 671026419200 have it among the parameters.
DecoderShape DeepseekV3Shape(const ConfigReader& config) {
  DecoderShape s = DeepseekShape(config);
  s.router_bias = s.experts > 0;
  const int groups = config.Size("n_group", kMostExperts),
            chosen = config.Size("topk_group", kMostExperts);
  if (chosen > groups)
    config.Refuse("topk_group", Text(chosen) + " groups of " + Text(groups) + " (n_group)",
                  "a token's experts lie in at most n_group groups");
  s.routed_share = std::min(1.0, double(chosen) / groups);
  return s;
}

// Biases everywhere, also the router's and the experts'; a learned sink per head.
DecoderShape GptOssShape(const ConfigReader& config) {
  DecoderShape s = GatedShape(config);
  s.q_bias = s.kv_bias = s.out_bias = config.Flag("attention_bias");
  s.sinks = true;
  s.window = Windows(config, s.layers, WindowWidth(config), [](int i) { return i % 2 == 0; });
  AddExperts(config, s, s.ffn, [](int) { return true; });
  s.router_bias = s.expert_bias = true;
  return s;
}

DecoderShape Glm4MoeShape(const ConfigReader& config) {
  DecoderShape s = GatedShape(config);
  s.q_bias = s.kv_bias = config.Flag("attention_bias");
  if (config.Flag("use_qk_norm")) s.qk_norm = QkNorm::kPerHead;
  const int expert_ffn = config.Size("moe_intermediate_size");
  AddExperts(config, s, expert_ffn, DeepseekSparsity(config, s.layers));
  s.shared_ffn = s.experts > 0 ? SharedWidth(config, expert_ffn) : 0;
  AddMtp(config, s);
  return s;
}

// intermediate_size is an expert's and the shared expert's, intermediate_size_mlp a dense layer's.
// Layers without rotary positions see the whole sequence, the others a chunk of it.
DecoderShape Llama4Shape(const ConfigReader& config) {
  DecoderShape s = GatedShape(config);
  s.q_bias = s.kv_bias = s.out_bias = config.Flag("attention_bias");
  const int expert_ffn = s.ffn;
  s.ffn = config.Size("intermediate_size_mlp");

  const std::vector<int> rotary = config.Integers("no_rope_layers", 1);  // 1: has them
  const int interval = config.Size("no_rope_layer_interval", kMostLayers);
  if (!rotary.empty() && rotary.size() < static_cast<std::size_t>(s.layers))
    config.Refuse("no_rope_layers",
                  "lists " + std::to_string(rotary.size()) + " layers of " + Text(s.layers),
                  "give a 1 (rotary positions) or 0 (none) for each layer");
  s.window =
      Windows(config, s.layers, config.Count("attention_chunk_size", kMostPositions), [&](int i) {
        const std::size_t at = static_cast<std::size_t>(i);
        return at < rotary.size() ? rotary[at] != 0 : (i + 1) % interval != 0;
      });

  const int step = config.Size("interleave_moe_layer_step", kMostLayers);
  const std::vector<int> listed = config.Integers("moe_layers", kMostLayers);
  const std::set<int> sparse(listed.begin(), listed.end());
  const bool is_listed = config.IsGiven("moe_layers");
  AddExperts(config, s, expert_ffn,
             [&](int i) { return is_listed ? sparse.contains(i) : (i + 1) % step == 0; });
  s.shared_ffn = s.experts > 0 ? expert_ffn : 0;
  return s;
}
}  // namespace shardplan
