// SPDX-License-Identifier: Apache-2.0
// The parts that families share.
#include <algorithm>
#include <string>
#include <utility>

#include "planner/model/families_shapes.h"

namespace shardplan {

DecoderShape Sizes(const ConfigReader& config) {
  DecoderShape s;
  s.hidden = config.Size("hidden_size");
  s.layers = config.Size("num_hidden_layers", kMostLayers);
  s.vocab = config.Size("vocab_size", kMostRows);
  s.max_positions = config.Size("max_position_embeddings", kMostPositions);
  s.max_positions_given = config.IsGiven("max_position_embeddings");
  s.heads = config.Size("num_attention_heads");
  s.ffn = config.SizeIfAny("intermediate_size").value_or(4 * s.hidden);
  s.tied = config.Flag("tie_word_embeddings");
  return s;
}

void AddHeads(const ConfigReader& config, DecoderShape& s) {
  s.kv_heads = config.SizeIfAny("num_key_value_heads").value_or(s.heads);
  if (s.heads % s.kv_heads != 0)
    config.Refuse("num_key_value_heads",
                  std::to_string(s.kv_heads) +
                      (config.IsGiven("num_key_value_heads") ? "" : ", its default,") +
                      " does not divide " + config.NameOf("num_attention_heads") + " (" +
                      std::to_string(s.heads) + ")",
                  "each key/value head serves as many heads as the others; these work: " +
                      DivisorsNear(s.heads, s.kv_heads));
  const std::optional<int> head_dim = config.SizeIfAny("head_dim");
  s.head_dim = head_dim.value_or(std::max(1, s.hidden / s.heads));
  if (!head_dim && s.hidden % s.heads != 0)
    config.Refuse("num_attention_heads",
                  std::to_string(s.heads) + " does not divide " + config.NameOf("hidden_size") +
                      " (" + std::to_string(s.hidden) + ")",
                  "give head_dim, or a divisor: " + DivisorsNear(s.hidden, s.heads));
}

std::vector<int> Windows(const ConfigReader& config, int layers, int width,
                         const std::function<bool(int)>& windowed) {
  const std::vector<std::string> types = config.Words("layer_types");
  const bool listed = config.IsGiven("layer_types");
  if (listed && types.size() < static_cast<std::size_t>(layers)) {
    config.Refuse("layer_types",
                  "names " + std::to_string(types.size()) + " layers of " + std::to_string(layers),
                  "give one word a layer: full_attention or sliding_attention");
    return {};
  }
  std::vector<int> windows(static_cast<std::size_t>(layers), 0);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (listed && types[i] != "full_attention" && types[i] != "sliding_attention" &&
        types[i] != "chunked_attention")
      config.Refuse("layer_types", "has " + types[i].substr(0, 40) + ", which is not supported",
                    "full_attention, sliding_attention and chunked_attention are");
    if (listed ? types[i] != "full_attention" : windowed(static_cast<int>(i))) windows[i] = width;
  }
  if (std::all_of(windows.begin(), windows.end(), [](int w) { return w == 0; })) windows.clear();
  return windows;
}

DecoderShape GatedShape(const ConfigReader& config) {
  DecoderShape s = Sizes(config);
  AddHeads(config, s);
  s.activation = ActivationNamed(config.Word("hidden_act"));
  return s;
}

int WindowWidth(const ConfigReader& config) {
  return config.Count("sliding_window", kMostPositions);
}

void AddExperts(const ConfigReader& config, DecoderShape& s, int ffn,
                const std::function<bool(int)>& sparse) {
  const int experts = config.Count("num_local_experts", kMostExperts);
  if (experts == 0) return;
  const int top_k = config.Size("num_experts_per_tok", kMostExperts);
  if (top_k > experts)
    config.Refuse(
        "num_experts_per_tok",
        std::to_string(top_k) + " is more than there are experts (" +
            config.NameOf("num_local_experts") + ": " + std::to_string(experts) + ")",
        "a token goes to that many different ones: 1 to " + std::to_string(experts) + " work");
  std::vector<char> moe(static_cast<std::size_t>(s.layers), 0);
  for (std::size_t i = 0; i < moe.size(); ++i) moe[i] = sparse(static_cast<int>(i)) ? 1 : 0;
  if (std::find(moe.begin(), moe.end(), 1) == moe.end()) return;  // cut down to its dense layers
  s.moe = std::move(moe);
  s.experts = experts;
  s.top_k = top_k;
  s.expert_ffn = ffn;
}

Activation ActivationNamed(std::string_view name) {
  const auto is = [name](auto... names) { return ((name == names) || ...); };
  if (is("silu", "swish")) return Activation::kSilu;
  if (is("relu")) return Activation::kRelu;
  if (is("relu2", "squared_relu")) return Activation::kSquaredRelu;
  if (is("gelu_new", "gelu_fast", "gelu_python", "gelu_python_tanh", "gelu_accurate", "quick_gelu"))
    return Activation::kUnfusedGelu;
  return Activation::kGelu;
}
}  // namespace shardplan
