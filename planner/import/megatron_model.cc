// SPDX-License-Identifier: Apache-2.0
// The model by Megatron-LM's arguments: pretrain_gpt.py builds a GPTModel.
#include <fmt/format.h>

#include <cctype>
#include <optional>

#include "planner/import/names.h"
#include "planner/import/readers.h"

namespace shardplan {
namespace {

using nlohmann::json;

std::string ActivationOf(SettingList& s) {
  if (s.On("swiglu", "model.activation")) return "swiglu";
  if (s.On("geglu", "model.activation") || s.On("quick_geglu", "model.activation")) return "geglu";
  if (s.On("squared_relu", "model.activation")) return "squared_relu";
  // Megatron-DeepSpeed's.
  if (s.Has("glu_activation"))
    return s.OneOf("glu_activation", {"swiglu", "geglu", "reglu"}, "model.activation")
        .value_or("gelu");
  s.Skip("openai_gelu");
  return "gelu";
}

std::string PositionsOf(SettingList& s) {
  const auto type = s.Word("position_embedding_type", "model.position_embedding");
  const bool none = s.On("no_position_embedding");
  if (s.On("use_rotary_position_embeddings", "model.position_embedding")) return "rope";
  const std::string word = type.value_or("learned_absolute");
  if (word == "rope" || word == "mrope" || word == "yarn") return "rope";
  if (word == "learned_absolute" && none) return "none";
  return word == "learned_absolute" ? word : "none";
}

// The rows of the embedding before padding: given, or the tokenizer's.
void SetVocabulary(SettingList& s, Draft& d) {
  for (const char* name : {"padded_vocab_size", "pad_vocab_size_to"})
    if (const auto size = s.Size(name, "model.vocab_size")) {
      d.model()["vocab_size"] = *size;
      return;
    }
  const std::string type = s.Word("tokenizer_type", "").value_or("GPT2BPETokenizer");
  if (const auto size = s.Size("vocab_size", "model.vocab_size")) {
    d.model()["vocab_size"] = *size;
    return;
  }
  const Setting* model = s.Take("tokenizer_model");
  if (model == nullptr) model = s.Take("tokenizer_name_or_path");
  if (model != nullptr && model->values.size() == 1)
    if (const auto preset = ModelPresetOf(model->values[0])) {
      if (const auto size = VocabularyOf(*preset)) {
        d.model()["vocab_size"] = *size;
        d.From("model.vocab_size", *model);
        return;
      }
    }
  static const std::pair<const char*, int> kKnown[] = {
      {"GPT2BPETokenizer", 50257}, {"Llama2Tokenizer", 32000}, {"Llama3Tokenizer", 128256}};
  const Setting* named = s.Take("tokenizer_type");
  for (const auto& [name, size] : kKnown)
    if (type == name && (named != nullptr || s.Has("vocab_file"))) {
      d.model()["vocab_size"] = size;
      if (named != nullptr) d.From("model.vocab_size", *named);
      return;
    }
  d.Need("model.vocab_size", fmt::format("the tokenizer ({}) does not tell it here: give --set "
                                         "model.vocab_size=N; 50257 is taken",
                                         type));
}

// "[0]*3+[1]*58" as numbers; nothing where it is no such list.
std::optional<std::vector<int>> LayerPattern(std::string_view text) {
  std::vector<int> pattern;
  std::size_t at = 0;
  const auto number = [&]() -> std::optional<int> {
    int value = 0;
    const std::size_t begin = at;
    for (;
         at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) && at < begin + 6;)
      value = value * 10 + (text[at++] - '0');
    return at == begin ? std::nullopt : std::optional<int>(value);
  };
  const auto skip = [&](std::string_view what) {
    while (at < text.size() && what.find(text[at]) != std::string_view::npos) ++at;
  };
  for (skip("( '\""); at < text.size(); skip(")+( '\"")) {
    if (text[at] != '[') return std::nullopt;
    std::vector<int> group;
    for (++at; at < text.size() && text[at] != ']'; skip(", ")) {
      const auto item = number();
      if (!item) return std::nullopt;
      group.push_back(*item);
    }
    if (at < text.size()) ++at;
    int times = 1;
    skip(" )");
    if (at < text.size() && text[at] == '*') {
      ++at;
      skip(" ");
      times = number().value_or(0);
    }
    if (pattern.size() + group.size() * static_cast<std::size_t>(times) > 10'000)
      return std::nullopt;
    for (int i = 0; i < times; ++i) pattern.insert(pattern.end(), group.begin(), group.end());
  }
  return pattern;
}

// The leading dense layers, where all after them have experts.
void ReadLayerFrequency(SettingList& s, Draft& d) {
  const Setting* setting = s.Take("moe_layer_freq", "model.first_k_dense_replace");
  if (setting == nullptr || setting->values.size() != 1) return;
  const std::string& text = setting->values[0];
  if (text == "1") return;
  const auto pattern = LayerPattern(text);
  std::size_t dense = 0;
  while (pattern && dense < pattern->size() && (*pattern)[dense] == 0) ++dense;
  bool rest = pattern.has_value() && !pattern->empty();
  for (std::size_t i = dense; rest && i < pattern->size(); ++i) rest = (*pattern)[i] == 1;
  if (!rest)
    d.Leave(*setting, "experts are taken to be in every layer", true);
  else if (dense > 0)
    d.model()["first_k_dense_replace"] = dense;
}

void ReadExperts(SettingList& s, Draft& d) {
  json& m = d.model();
  // Megatron-DeepSpeed gives its number of experts for each layer; "1" is a dense model.
  const Setting* experts = s.Take("num_experts", "model.num_local_experts");
  if (experts == nullptr || (experts->values.size() == 1 && experts->values[0] == "1")) return;
  if (experts->values.size() > 1)
    d.Leave(*experts, "one number of experts is taken for all layers", true);
  const auto count = experts->values.size() == 1 ? s.Size("num_experts") : std::nullopt;
  if (!count) return;
  m["num_local_experts"] = *count;
  m["num_experts_per_tok"] =
      s.Size("moe_router_topk", "model.num_experts_per_tok").value_or(s.Size("topk").value_or(2));
  if (const auto width = s.Size("moe_ffn_hidden_size", "model.moe_intermediate_size"))
    m["moe_intermediate_size"] = *width;
  if (const auto shared =
          s.Size("moe_shared_expert_intermediate_size", "model.shared_expert_intermediate_size"))
    m["shared_expert_intermediate_size"] = *shared;
  s.Skip("moe_shared_expert_overlap");
  ReadLayerFrequency(s, d);
}

// BigScience's arguments for BLOOM: ALiBi and a norm of the embeddings, which transformers' class
// of that name has.
void ReadBloom(SettingList& s, Draft& d) {
  const bool alibi = s.Text("position_embedding_type") == "alibi";
  const bool norm = s.On("embed_layernorm");
  json& m = d.model();
  const bool plain = m["activation"] == "gelu" && m["normalization"] == "LayerNorm" &&
                     m["add_bias"] == true && m["tie_word_embeddings"] == true;
  if (!alibi && !norm) return;
  if (!alibi || !norm || !plain) {
    s.Leave(alibi ? "position_embedding_type" : "embed_layernorm",
            "priced without it: no family has it with the rest");
    return;
  }
  m["model_type"] = "bloom";
  d.From("model.model_type", *s.Take("embed_layernorm"));
  for (const char* key : {"activation", "normalization", "position_embedding", "add_bias",
                          "max_position_embeddings", "intermediate_size"})
    m.erase(key);
}

// --multi-latent-attention: DeepSeek's architecture under its own keys.
void ReadLatentAttention(SettingList& s, Draft& d) {
  json& m = d.model();
  m["model_type"] = "deepseek_v3";
  d.From("model.model_type", *s.Take("multi_latent_attention"));
  for (const char* key : {"activation", "normalization", "position_embedding", "add_bias",
                          "qk_layernorm", "head_dim", "num_key_value_heads", "add_qkv_bias"})
    m.erase(key);
  m["q_lora_rank"] = nullptr;
  if (const auto rank = s.Size("q_lora_rank", "model.q_lora_rank")) m["q_lora_rank"] = *rank;
  m["kv_lora_rank"] = s.Size("kv_lora_rank", "model.kv_lora_rank").value_or(32);
  m["qk_nope_head_dim"] = s.Size("qk_head_dim", "model.qk_nope_head_dim").value_or(128);
  m["qk_rope_head_dim"] = s.Size("qk_pos_emb_head_dim", "model.qk_rope_head_dim").value_or(64);
  m["v_head_dim"] = s.Size("v_head_dim", "model.v_head_dim").value_or(128);
  if (!m.contains("num_local_experts")) {
    d.Need("model.num_local_experts",
           "latent attention is priced in DeepSeek's models with experts");
    return;
  }
  const int width = m.value("moe_intermediate_size", m.value("intermediate_size", 1));
  m["moe_intermediate_size"] = width;
  const int shared = m.value("shared_expert_intermediate_size", 0);
  m.erase("shared_expert_intermediate_size");
  m["n_shared_experts"] = width > 0 ? shared / width : 0;
  if (!m.contains("first_k_dense_replace")) m["first_k_dense_replace"] = 0;
}
}  // namespace

void ReadMegatronModel(SettingList& s, Draft& d) {
  json& m = d.model();
  m["model_type"] = "megatron_gpt";
  const auto need = [&](const char* flag, const char* key) {
    const auto value = s.Size(flag, std::string("model.") + key);
    if (value)
      m[key] = *value;
    else if (!d.failed())
      d.Need(std::string("model.") + key, fmt::format("no --{} was found", flag));
    return value.value_or(0);
  };
  if (s.Has("encoder_num_layers") && !s.Has("num_layers"))
    need("encoder_num_layers", "num_hidden_layers");
  else
    need("num_layers", "num_hidden_layers");
  const int hidden = need("hidden_size", "hidden_size");
  const int heads = need("num_attention_heads", "num_attention_heads");
  if (s.On("group_query_attention", "model.num_key_value_heads"))
    m["num_key_value_heads"] = s.Size("num_query_groups", "model.num_key_value_heads").value_or(1);
  else if (const auto kv = s.Size("num_key_value_heads", "model.num_key_value_heads"))
    m["num_key_value_heads"] = *kv;
  else
    s.Skip("num_query_groups");
  if (const auto width = s.Size("kv_channels", "model.head_dim"))
    if (heads > 0 && *width * heads != hidden) m["head_dim"] = *width;
  m["activation"] = ActivationOf(s);
  // arguments.py: 4h, of which two thirds in multiples of 64 where the MLP is gated by swiglu.
  const int wide =
      m["activation"] == "swiglu"
          ? static_cast<int>(std::int64_t{4} * hidden * 2 / 3 / 64) * 64
          : static_cast<int>(std::min<std::int64_t>(std::int64_t{4} * hidden, 1 << 30));
  const int ffn = s.Size("ffn_hidden_size", "model.intermediate_size").value_or(wide);
  if (ffn > 0) m["intermediate_size"] = ffn;
  const std::string norm = s.OneOf("normalization", {"LayerNorm", "RMSNorm"}, "model.normalization")
                               .value_or("LayerNorm");
  m["normalization"] = s.On("rmsnorm") ? "RMSNorm" : norm;
  m["position_embedding"] = PositionsOf(s);
  m["add_bias"] = !s.On("disable_bias_linear", "model.add_bias");
  s.Skip("add_bias_linear");
  if (s.On("add_qkv_bias", "model.add_qkv_bias")) m["add_qkv_bias"] = true;
  if (s.On("qk_layernorm", "model.qk_layernorm")) m["qk_layernorm"] = true;
  m["tie_word_embeddings"] =
      !s.On("untie_embeddings_and_output_weights", "model.tie_word_embeddings");
  if (const auto positions = s.Size("max_position_embeddings", "model.max_position_embeddings"))
    m["max_position_embeddings"] = *positions;
  SetVocabulary(s, d);
  ReadExperts(s, d);
  if (const auto mtp = s.Whole("mtp_num_layers", 0, "model.num_nextn_predict_layers"))
    if (*mtp > 0) m["num_nextn_predict_layers"] = *mtp;
  s.Leave("window_size", "attention is taken over the whole sequence");
  ReadBloom(s, d);
  if (s.On("multi_latent_attention")) ReadLatentAttention(s, d);
}
}  // namespace shardplan
