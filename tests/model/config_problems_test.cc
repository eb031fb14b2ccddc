// SPDX-License-Identifier: Apache-2.0
// What a user reads when a config is wrong: whole texts, each of which says what would work.
#include <cmath>
#include <string>

#include "tests/model/configs.h"

namespace shardplan {
namespace {

// The families at the end of some hints: they grow, and every hint prints the same.
std::string ShortProblemOf(const nlohmann::json& config) {
  std::string text = ProblemOf(config);
  const std::size_t known = text.find("known: ");
  if (known != std::string::npos) {
    EXPECT_EQ(text.find("known: llama, mistral, qwen2"), known);
    text.resize(known + 6);
  }
  return text;
}

struct Golden {
  const char* config;
  const char* text;
};

constexpr Golden kGolden[] = {
    {R"({"model_type": "llama", "hidden_size": "4096"})",
     "hidden_size: is \"4096\"\n"
     "  expected an integer from 1 to 1000000; llama has 4096 by default"},
    {R"({"model_type": "llama", "hidden_size": 0})",
     "hidden_size: is 0\n"
     "  expected an integer from 1 to 1000000; llama has 4096 by default"},
    {R"({"model_type": "llama", "hidden_size": 4096.5})",
     "hidden_size: is 4096.5\n"
     "  expected an integer from 1 to 1000000; llama has 4096 by default"},
    {R"({"model_type": "llama", "hidden_size": 1e+30})",
     "hidden_size: is 1e+30\n"
     "  expected an integer from 1 to 1000000; llama has 4096 by default"},
    {R"({"model_type": "llama", "num_hidden_layers": 20000})",
     "num_hidden_layers: is 20000\n"
     "  expected an integer from 1 to 10000; llama has 32 by default"},
    {R"({"model_type": "llama", "hidden_size": [4096]})",
     "hidden_size: is a list\n"
     "  expected an integer from 1 to 1000000; llama has 4096 by default"},
    {R"({"model_type": "llama", "hidden_size": null})",
     "hidden_size: is null\n"
     "  expected an integer from 1 to 1000000; llama has 4096 by default"},
    {R"({"model_type": "llama", "tie_word_embeddings": "yes"})",
     "tie_word_embeddings: is \"yes\"\n"
     "  expected true or false; llama has false by default"},
    {R"({"model_type": "llama", "num_hiden_layers": 80})",
     "num_hiden_layers: is not a key of llama\n"
     "  did you mean num_hidden_layers?"},
    {R"({"model_type": "llama", "n_layers": 80})",
     "n_layers: is not a key of llama\n"
     "  here it is called num_hidden_layers"},
    {R"({"model_type": "llama", "num_local_experts": 8})",
     "num_local_experts: is not a key of llama\n"
     "  it is a key of megatron_gpt, mixtral, qwen2_moe, qwen3_moe"},
    {R"({"model_type": "llama", "rope_theta": 500000})",
     "rope_theta: is not a key of llama\n"
     "  no cost depends on it: leave it out, or give the whole file as config"},
    {R"({"model_type": "llama", "zzzzzz": 1})",
     "zzzzzz: is not a key of llama\n"
     "  llama reads attention_bias, head_dim, hidden_act, hidden_size, intermediate_size, "
     "max_position_embeddings, mlp_bias, num_attention_heads, num_hidden_layers, "
     "num_key_value_heads, tie_word_embeddings, vocab_size"},
    {R"({"model_type": "llama", "num_key_value_heads": 5})",
     "num_key_value_heads: 5 does not divide num_attention_heads (32)\n"
     "  each key/value head serves as many heads as the others; these work: 1 2 4 8 16 32"},
    {R"({"model_type": "mistral", "num_attention_heads": 4})",
     "num_key_value_heads: 8, its default, does not divide num_attention_heads (4)\n"
     "  each key/value head serves as many heads as the others; these work: 1 2 4"},
    {R"({"model_type": "llama", "num_attention_heads": 30})",
     "num_attention_heads: 30 does not divide hidden_size (4096)\n"
     "  give head_dim, or a divisor: 1 2 4 8 16 32 64 128 256 512 1024 2048"},
    {R"({"model_type": "gpt2", "n_layer": 12, "num_hidden_layers": 24})",
     "n_layer: 12 contradicts num_hidden_layers: 24\n"
     "  the two are one setting under two names: give it once"},
    {R"({"model_type": "gpt2", "num_key_value_heads": 4})",
     "num_key_value_heads: is 4, not 12\n"
     "  gpt2 has no grouped heads; of the families with LayerNorm, megatron_gpt does"},
    {R"({"model_type": "gpt2", "head_dim": 128})",
     "head_dim: is 128, not 64\n"
     "  gpt2 always has hidden_size / num_attention_heads"},
    {R"({"model_type": "mixtral", "num_experts_per_tok": 9})",
     "num_experts_per_tok: 9 is more than there are experts (num_local_experts: 8)\n"
     "  a token goes to that many different ones: 1 to 8 work"},
    {R"({"model_type": "deepseek_v3", "n_routed_experts": 4})",
     "num_experts_per_tok: 8 is more than there are experts (n_routed_experts: 4)\n"
     "  a token goes to that many different ones: 1 to 4 work"},
    {R"({"model_type": "deepseek_v2"})",
     "num_experts_per_tok: is missing\n"
     "  deepseek_v2 has no default for it"},
    {R"({"model_type": "deepseek_v3", "num_key_value_heads": 8})",
     "num_key_value_heads: is 8, not 128\n"
     "  latent attention has one key and value per head: give it as num_attention_heads, or "
     "not at all"},
    {R"({"model_type": "deepseek_v3", "head_dim": 100})",
     "head_dim: 100 is none of this model's head sizes\n"
     "  leave it out: qk_nope_head_dim, qk_rope_head_dim and v_head_dim say it"},
    {R"({"model_type": "deepseek_v3", "num_hidden_layers": 4, "moe_layer_freq": [0, 1]})",
     "moe_layer_freq: lists 2 layers of 4\n"
     "  give a 0 (dense) or 1 (experts) for each layer, or one number"},
    {R"({"model_type": "gemma3", "num_hidden_layers": 3, "layer_types": ["full_attention"]})",
     "layer_types: names 1 layers of 3\n"
     "  give one word a layer: full_attention or sliding_attention"},
    {R"({"model_type": "gemma3", "num_hidden_layers": 1, "layer_types": )"
     R"(["linear_attention"]})",
     "layer_types: has linear_attention, which is not supported\n"
     "  full_attention, sliding_attention and chunked_attention are"},
    {R"({"model_type": "falcon", "num_kv_heads": 8, "multi_query": true, )"
     R"("num_attention_heads": 64, "hidden_size": 4096})",
     "num_kv_heads: 8 needs new_decoder_architecture: true\n"
     "  without it there is one (multi_query) or as many as heads"},
    {R"({"model_type": "mpt", "attn_config": {"alibbi": true}})",
     "attn_config.alibbi: is not read by mpt\n"
     "  attn_config takes alibi, attn_type, kv_n_heads, qk_ln, rope"},
    {R"({"model_type": "mpt", "attn_config": 7})",
     "attn_config: is 7\n"
     "  expected a mapping"},
    {R"({"model_type": "mpt", "attn_config": {"attn_type": "mqa"}})",
     "attn_config.attn_type: is \"mqa\"\n"
     "  expected one of multihead_attention, multiquery_attention, grouped_query_attention; "
     "mpt has \"multihead_attention\" by default"},
    {R"({"model_type": "mpt", "attn_config": {"attn_type": "grouped_query_attention"}})",
     "attn_config.kv_n_heads: is missing\n"
     "  mpt has no default for it"},
    {R"({"model_type": "mpt", "intermediate_size": 100, "expansion_ratio": 4})",
     "intermediate_size: is 100, not 8192\n"
     "  expansion_ratio times hidden_size says otherwise"},
    {R"({"model_type": "megatron_gpt"})",
     "hidden_size: is missing\n"
     "  megatron_gpt has no default for it"},
    {R"({"model_type": "megatron_gpt", "num_layers": 2, "hidden_size": 64, )"
     R"("num_attention_heads": 4, "activation": "swish"})",
     "activation: is \"swish\"\n"
     "  expected one of gelu, swiglu, geglu, squared_relu, relu, silu, reglu, quick_gelu, "
     "fast_gelu; megatron_gpt has \"gelu\" by default"},
    {R"({"model_type": "megatron_gpt", "num_layers": 2, "hidden_size": 64, )"
     R"("num_attention_heads": 4, "tie_word_embeddings": true, )"
     R"("untie_embeddings_and_output_weights": true})",
     "tie_word_embeddings: contradicts untie_embeddings_and_output_weights\n"
     "  the two are opposites: give one"},
    {R"({"model_type": "bert"})",
     "model_type: bert is not supported: it is an encoder, and shardplan has no builder for "
     "encoders yet\n"
     "  known:"},
    {R"({"model_type": "vit"})",
     "model_type: vit is not supported: it is a vision transformer, and shardplan has no "
     "builder for those yet\n"
     "  known:"},
    {R"({"model_type": "unet"})",
     "model_type: unet is not supported: it is a diffusion UNet, and shardplan has no builder "
     "for convolutions yet\n"
     "  known:"},
    {R"({"model_type": "dlrm"})",
     "model_type: dlrm is not supported: it is a recommender, and shardplan has no builder "
     "for embedding bags yet\n"
     "  known:"},
    {R"({"model_type": "lama"})",
     "model_type: is \"lama\", which is no known family\n"
     "  did you mean llama? known:"},
    {R"({"model_type": 7})",
     "model_type: is not a word\n"
     "  known:"},
    {R"({"hidden_size": 4096})",
     ": model_type is missing: it says what the other keys mean\n"
     "  known:"},
    {R"([1])",
     ": a model's config is a mapping of keys\n"
     "  for example {model_type: llama, num_hidden_layers: 32, hidden_size: 4096}"},
    {R"({"model_type": "gemma3", "hidden_size": 8, "text_config": {"hidden_size": 8}})",
     "hidden_size: is not read beside text_config\n"
     "  put it into text_config"},
    {R"({"model_type": "gemma3", "text_config": {"hidden_size": -8}})",
     "text_config.hidden_size: is -8\n"
     "  expected an integer from 1 to 1000000; gemma3 has 2304 by default"},
    {R"({"model_type": "llava", "text_config": {"model_type": "bert"}})",
     "text_config.model_type: bert is not supported: it is an encoder, and shardplan has no "
     "builder for encoders yet\n"
     "  known:"},
    {R"({"model_type": "llama", "num_attention_heads": 100000, "head_dim": 100000})",
     "num_attention_heads: makes the attention wider than 100000000\n"
     "  no model is that wide; look for a slip in its factors"},
    {R"({"model_type": "deepseek_v3", "n_shared_experts": 100000, "moe_intermediate_size": )"
     R"(1000000})",
     "n_shared_experts: 100000 of moe_intermediate_size 1000000 are too wide\n"
     "  real models have one to four"},
    {R"({"model_type": "phi", "qk_layernorm": true})",
     "qk_layernorm: is true: LayerNorm of queries and keys is not supported yet\n"
     "  no published checkpoint of this family has it"},
    {R"({"model_type": "gpt2", "add_cross_attention": true})",
     "add_cross_attention: is true: the decoder of an encoder-decoder model\n"
     "  those are not supported yet"},
};

TEST(ConfigProblems, ReadAsBefore) {
  for (const Golden& golden : kGolden)
    EXPECT_EQ(ShortProblemOf(Parse(golden.config)), golden.text) << golden.config;
}

TEST(ConfigProblems, NameEveryKindOfModelThatHasNoBuilderYet) {
  for (const char* type : {"bert", "roberta", "t5", "whisper", "vit", "clip", "dit", "unet",
                           "resnet", "dlrm", "mamba2", "nemotron_h", "qwen3_next"}) {
    const std::string text = ProblemOf(nlohmann::json{{"model_type", type}});
    const std::string start = std::string("model_type: ") + type + " is not supported: it ";
    EXPECT_EQ(text.substr(0, start.size()), start);
    EXPECT_NE(text.find(" yet\n"), std::string::npos) << text;
  }
}

TEST(ConfigProblems, NumbersAreShownAsTheUserWroteThem) {
  const nlohmann::json config = {{"model_type", "llama"}, {"hidden_size", -8.0}};
  EXPECT_EQ(ProblemOf(config),
            "hidden_size: is -8\n"
            "  expected an integer from 1 to 1000000; llama has 4096 by default");
}

// So that the caret of a message points at the one or the other.
TEST(ConfigProblems, TellAKeyThatDoesNotBelongFromAWrongValue) {
  const auto about_key = [](const char* text) {
    return ShapeFromConfig(Parse(text), /*hand_written=*/true).error().about_key;
  };
  EXPECT_TRUE(about_key(R"({"model_type": "llama", "n_layers": 80})"));
  EXPECT_TRUE(about_key(R"({"model_type": "mpt", "attn_config": {"alibbi": true}})"));
  EXPECT_FALSE(about_key(R"({"model_type": "llama", "hidden_size": 0})"));
}

TEST(ConfigProblems, NotEvenInfinityIsASize) {
  for (double value : {static_cast<double>(NAN), static_cast<double>(INFINITY), -1e300})
    EXPECT_NE(ProblemOf(nlohmann::json{{"model_type", "llama"}, {"hidden_size", value}}),
              "no problem");
}

TEST(ConfigProblems, OverridesMustBeKeysOfTheFamily) {
  const auto merged = OverrideConfig(Preset("gpt2"), Parse(R"({"num_local_experts": 8})"));
  ASSERT_FALSE(merged.has_value());
  EXPECT_EQ(merged.error().key, "num_local_experts");
  EXPECT_EQ(merged.error().message, "is not a key of gpt2");
}

TEST(ConfigProblems, OverridesKeepTheFamily) {
  const auto merged = OverrideConfig(Preset("gpt2"), Parse(R"({"model_type": "llama"})"));
  ASSERT_FALSE(merged.has_value());
  EXPECT_EQ(merged.error().key, "model_type");
  EXPECT_EQ(merged.error().message, "is not the one of the config that it overrides");
}
}  // namespace
}  // namespace shardplan
