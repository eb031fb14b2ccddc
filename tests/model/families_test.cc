// SPDX-License-Identifier: Apache-2.0
// What configs of real models leave unsaid, say twice, or say in a way that misleads.
#include <algorithm>

#include "tests/model/configs.h"

namespace shardplan {
namespace {

using Json = nlohmann::json;

int CountOnes(const std::vector<char>& moe) {
  return static_cast<int>(std::count(moe.begin(), moe.end(), 1));
}

TEST(Families, AbsentKeysTakeTheDefaultsOfTheirClass) {
  const DecoderShape gpt2 = ShapeOf(R"({"model_type": "gpt2"})");
  EXPECT_EQ(gpt2.hidden, 768);
  EXPECT_EQ(gpt2.layers, 12);
  EXPECT_EQ(gpt2.heads, 12);
  EXPECT_EQ(gpt2.vocab, 50257);
  EXPECT_EQ(gpt2.ffn, 4 * 768);
  EXPECT_TRUE(gpt2.tied);
  const DecoderShape llama = ShapeOf(R"({"model_type": "llama"})");
  EXPECT_EQ(llama.hidden, 4096);
  EXPECT_EQ(llama.vocab, 32000);
  EXPECT_EQ(llama.kv_heads, 32);
  EXPECT_FALSE(llama.tied);
}

TEST(Families, LlamasNamesWorkForEveryFamily) {
  const DecoderShape own = ShapeOf(
      R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 3, "n_head": 4, "n_inner": 100,
          "n_positions": 9})");
  const DecoderShape common = ShapeOf(
      R"({"model_type": "gpt2", "hidden_size": 64, "num_hidden_layers": 3,
          "num_attention_heads": 4, "intermediate_size": 100, "max_position_embeddings": 9})");
  EXPECT_EQ(CountParameters(BuildDecoder(own)).total, CountParameters(BuildDecoder(common)).total);
  EXPECT_EQ(common.learned_positions, 9);
}

TEST(Families, MixtralsNamesWorkForEveryMixture) {
  for (const char* family : {"mixtral", "qwen2_moe", "qwen3_moe", "deepseek_v2", "deepseek_v3",
                             "kimi_k2", "gpt_oss", "glm4_moe", "llama4", "megatron_gpt"}) {
    const DecoderShape s = ShapeOf(Json{{"model_type", family},
                                        {"hidden_size", 96},
                                        {"num_hidden_layers", 8},
                                        {"num_attention_heads", 8},
                                        {"num_key_value_heads", 8},
                                        {"num_local_experts", 16},
                                        {"num_experts_per_tok", 3},
                                        {"moe_intermediate_size", 24}});
    EXPECT_EQ(s.experts, 16) << family;
    EXPECT_EQ(s.top_k, 3) << family;
    EXPECT_EQ(s.expert_ffn, 24) << family;
  }
}

TEST(Families, TheSameValueUnderBothNamesIsNoContradiction) {
  EXPECT_EQ(ShapeOf(R"({"model_type": "gpt2", "n_layer": 3, "num_hidden_layers": 3})").layers, 3);
  EXPECT_EQ(ShapeOf(R"({"model_type": "gpt2", "n_layer": 3, "num_hidden_layers": null})").layers,
            3);
}

// A spec's numbers arrive as doubles.
TEST(Families, WholeDoublesAreIntegers) {
  EXPECT_EQ(ShapeOf(R"({"model_type": "llama", "hidden_size": 8192.0})").hidden, 8192);
}

TEST(Families, NullKeyValueHeadsMeansAllHeads) {
  EXPECT_EQ(ShapeOf(R"({"model_type": "mistral"})").kv_heads, 8);
  EXPECT_EQ(ShapeOf(R"({"model_type": "mistral", "num_key_value_heads": null})").kv_heads, 32);
}

TEST(Families, HeadDimIsReadOrDerived) {
  EXPECT_EQ(ShapeOf(R"({"model_type": "mistral", "hidden_size": 5120, "head_dim": 128})").head_dim,
            128);
  EXPECT_EQ(ShapeOf(R"({"model_type": "mistral", "hidden_size": 5120, "head_dim": null})").head_dim,
            160);
  EXPECT_EQ(ShapeOf(R"({"model_type": "gemma", "hidden_size": 2048})").head_dim, 256);
}

TEST(Families, TyingFollowsTheFamily) {
  for (const char* tied : {"gpt2", "gemma", "gemma2", "gemma3", "falcon", "bloom", "opt", "mpt"})
    EXPECT_TRUE(ShapeOf(Json{{"model_type", tied}}).tied) << tied;
  for (const char* untied : {"llama", "mistral", "qwen2", "qwen3", "phi", "phi3", "gpt_neox",
                             "gptj", "mixtral", "deepseek_v3", "gpt_oss"})
    EXPECT_FALSE(ShapeOf(Json{{"model_type", untied}}).tied) << untied;
}

TEST(Families, BiasesThatNoKeyTells) {
  const DecoderShape qwen2 = ShapeOf(R"({"model_type": "qwen2"})");
  EXPECT_TRUE(qwen2.q_bias && qwen2.kv_bias && !qwen2.out_bias && !qwen2.mlp_bias);
  const DecoderShape phi = ShapeOf(R"({"model_type": "phi"})");
  EXPECT_TRUE(phi.q_bias && phi.kv_bias && phi.out_bias && phi.mlp_bias && phi.head_bias);
  const DecoderShape gptj = ShapeOf(R"({"model_type": "gptj"})");
  EXPECT_TRUE(!gptj.q_bias && !gptj.out_bias && gptj.mlp_bias && gptj.head_bias);
  for (const char* family : {"gpt2", "gpt_neox", "bloom", "opt"}) {
    const DecoderShape s = ShapeOf(Json{{"model_type", family}});
    EXPECT_TRUE(s.q_bias && s.kv_bias && s.out_bias && s.mlp_bias && !s.head_bias) << family;
  }
  const DecoderShape mpt = ShapeOf(R"({"model_type": "mpt"})");
  EXPECT_TRUE(!mpt.q_bias && !mpt.mlp_bias && !mpt.norm_bias);
}

TEST(Families, ParallelResidualsShareANorm) {
  for (const char* family : {"gptj", "phi", "falcon"}) {
    const DecoderShape s = ShapeOf(Json{{"model_type", family}});
    EXPECT_TRUE(s.parallel_residual) << family;
    EXPECT_EQ(s.norms_per_layer, 1) << family;
  }
  const DecoderShape neox = ShapeOf(R"({"model_type": "gpt_neox"})");
  EXPECT_TRUE(neox.parallel_residual);
  EXPECT_EQ(neox.norms_per_layer, 2);
}

// The same number of key/value heads is ignored, required or implied.
TEST(Falcon, KeyValueHeadsDependOnTheArchitecture) {
  const auto kv_heads = [](const char* text) { return ShapeOf(text).kv_heads; };
  // transformers writes num_kv_heads of all heads even where multi_query makes it one.
  EXPECT_EQ(kv_heads(R"({"model_type": "falcon", "num_kv_heads": 71, "multi_query": true})"), 1);
  EXPECT_EQ(kv_heads(R"({"model_type": "falcon", "multi_query": false})"), 71);
  EXPECT_EQ(kv_heads(R"({"model_type": "falcon", "hidden_size": 8192, "num_attention_heads": 128,
                         "num_kv_heads": 8, "new_decoder_architecture": true})"),
            8);
  EXPECT_EQ(kv_heads(R"({"model_type": "falcon", "hidden_size": 8192, "num_attention_heads": 128,
                         "num_key_value_heads": 8})"),
            8);
  // The first files of 40B, before the class was in transformers.
  const DecoderShape first = ShapeOf(
      R"({"model_type": "RefinedWeb", "hidden_size": 8192, "n_head": 128, "n_head_kv": 8,
          "n_layer": 60, "parallel_attn": true})");
  EXPECT_EQ(first.kv_heads, 8);
  EXPECT_EQ(first.norms_per_layer, 2);
  EXPECT_EQ(CountParameters(BuildDecoder(first)).total, 41'303'293'952);
}

TEST(Mpt, FollowsItsNestedConfig) {
  EXPECT_EQ(ShapeOf(R"({"model_type": "mpt"})").learned_positions, 0);
  EXPECT_FALSE(ShapeOf(R"({"model_type": "mpt"})").rotary);
  EXPECT_EQ(ShapeOf(R"({"model_type": "mpt", "attn_config": {"alibi": false}})").learned_positions,
            2048);
  EXPECT_EQ(ShapeOf(R"({"model_type": "mpt", "attn_config": {"alibi": false},
                        "learned_pos_emb": false})")
                .learned_positions,
            0);
  EXPECT_EQ(ShapeOf(R"({"model_type": "mpt", "attn_config": {"attn_type": "grouped_query_attention",
                        "kv_n_heads": 4}})")
                .kv_heads,
            4);
  EXPECT_EQ(ShapeOf(R"({"model_type": "mpt", "expansion_ratio": 2.5})").ffn, 5120);
  EXPECT_EQ(ShapeOf(R"({"model_type": "mpt", "intermediate_size": 1000})").ffn, 1000);
}

TEST(Opt, PositionsStartAtTwoAndEmbeddingsMayBeNarrow) {
  const DecoderShape s = ShapeOf(Preset("opt-350m"));
  EXPECT_EQ(s.learned_positions, 2050);
  EXPECT_EQ(s.embedding_dim, 512);
  EXPECT_FALSE(s.final_norm);
  EXPECT_EQ(ShapeOf(Preset("opt-125m")).embedding_dim, 0);
}

TEST(Bloom, HasNoPositionsButANormAfterTheEmbedding) {
  const DecoderShape s = ShapeOf(Preset("bloom-7b1"));
  EXPECT_FALSE(s.rotary);
  EXPECT_EQ(s.learned_positions, 0);
  EXPECT_TRUE(s.embedding_norm);
}

TEST(Windows, FollowEachFamilysPattern) {
  const auto text = [](const char* more) {
    return Json::parse(std::string(R"({"num_hidden_layers": 4, "sliding_window": 32, )") + more +
                       "}");
  };
  using Layers = std::vector<int>;
  EXPECT_EQ(ShapeOf(text(R"("model_type": "mistral")")).window, Layers({32, 32, 32, 32}));
  EXPECT_EQ(ShapeOf(text(R"("model_type": "gemma2")")).window, Layers({32, 0, 32, 0}));
  EXPECT_EQ(ShapeOf(text(R"("model_type": "gpt_oss")")).window, Layers({32, 0, 32, 0}));
  EXPECT_EQ(ShapeOf(text(R"("model_type": "gemma3", "sliding_window_pattern": 3)")).window,
            Layers({32, 32, 0, 32}));
  // Qwen files have a sliding_window that use_sliding_window turns off.
  EXPECT_EQ(ShapeOf(text(R"("model_type": "qwen2")")).window, Layers());
  EXPECT_EQ(ShapeOf(text(R"("model_type": "qwen2", "use_sliding_window": true,
                            "max_window_layers": 3)"))
                .window,
            Layers({0, 0, 0, 32}));
  EXPECT_EQ(ShapeOf(text(R"("model_type": "gemma3", "layer_types": ["full_attention",
                            "sliding_attention", "full_attention", "full_attention"])"))
                .window,
            Layers({0, 32, 0, 0}));
  EXPECT_EQ(ShapeOf(R"({"model_type": "mistral", "sliding_window": null})").window, Layers());
}

TEST(Windows, Llama4HasChunksWhereItHasRotaryPositions) {
  using Layers = std::vector<int>;
  EXPECT_EQ(ShapeOf(R"({"model_type": "llama4", "num_hidden_layers": 5})").window,
            Layers({8192, 8192, 8192, 0, 8192}));
  EXPECT_EQ(
      ShapeOf(R"({"model_type": "llama4", "num_hidden_layers": 3, "no_rope_layers": [0, 1, 1]})")
          .window,
      Layers({0, 8192, 8192}));
}

TEST(Sparsity, FollowsEachFamilysKeys) {
  using Layers = std::vector<char>;
  const auto moe = [](Json more) {
    more["num_hidden_layers"] = 6;
    return ShapeOf(more).moe;
  };
  EXPECT_EQ(moe({{"model_type", "deepseek_v3"}}), Layers({0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(
      moe({{"model_type", "deepseek_v3"}, {"first_k_dense_replace", 1}, {"moe_layer_freq", 2}}),
      Layers({0, 0, 1, 0, 1, 0}));
  EXPECT_EQ(moe({{"model_type", "deepseek_v3"},
                 {"first_k_dense_replace", 0},
                 {"moe_layer_freq", {0, 1, 1, 0, 0, 1}}}),
            Layers({0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(moe({{"model_type", "qwen3_moe"}, {"decoder_sparse_step", 2}}),
            Layers({0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(moe({{"model_type", "qwen3_moe"}, {"mlp_only_layers", {0, 4, 99}}}),
            Layers({0, 1, 1, 1, 0, 1}));
  EXPECT_EQ(moe({{"model_type", "llama4"}, {"interleave_moe_layer_step", 2}}),
            Layers({0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(moe({{"model_type", "llama4"}, {"moe_layers", {1, 2}}}), Layers({0, 1, 1, 0, 0, 0}));
}

// A model cut down to its leading dense layers is a dense model: no rule may ask for its experts.
TEST(Sparsity, NoSparseLayerLeftIsADenseModel) {
  const DecoderShape s = ShapeOf(R"({"model_type": "deepseek_v3", "num_hidden_layers": 2,
                                     "num_nextn_predict_layers": 1})");
  EXPECT_EQ(s.experts, 0);
  EXPECT_EQ(s.shared_ffn, 0);
  EXPECT_TRUE(s.moe.empty());
  EXPECT_EQ(s.mtp_moe, 0);
}

TEST(Sparsity, Llama4sTwoWidths) {
  const DecoderShape s = ShapeOf(Preset("llama-4-maverick"));
  EXPECT_EQ(CountOnes(s.moe), 24);
  EXPECT_EQ(s.ffn, 16384);
  EXPECT_EQ(s.expert_ffn, 8192);
  EXPECT_EQ(s.shared_ffn, 8192);
}

// null is not absence: it takes the low rank away that the class would have.
TEST(LatentAttention, QueriesOfFullRankWhereTheRankIsNull) {
  EXPECT_EQ(ShapeOf(R"({"model_type": "deepseek_v3"})").q_lora_rank, 1536);
  EXPECT_EQ(ShapeOf(R"({"model_type": "deepseek_v3", "q_lora_rank": null})").q_lora_rank, 0);
  EXPECT_EQ(ShapeOf(Preset("deepseek-v2-lite")).q_lora_rank, 0);
}

TEST(Mtp, IsThereOnlyWhereTheConfigSaysSo) {
  EXPECT_EQ(ShapeOf(R"({"model_type": "deepseek_v3"})").mtp_layers, 0);
  EXPECT_EQ(ShapeOf(Preset("deepseek-v3")).mtp_layers, 1);
  EXPECT_EQ(ShapeOf(Preset("glm-4.5-air")).mtp_layers, 1);
}

TEST(GptOss, HasSinksAndBiasesEverywhere) {
  const DecoderShape s = ShapeOf(R"({"model_type": "gpt_oss"})");
  EXPECT_TRUE(s.sinks && s.router_bias && s.expert_bias && s.q_bias && s.out_bias);
}

TEST(MegatronGpt, IsMegatronsOwn) {
  const auto shape = [](Json more) {
    more.update({{"model_type", "megatron_gpt"},
                 {"num_layers", 2},
                 {"hidden_size", 64},
                 {"num_attention_heads", 8}});
    return ShapeOf(more);
  };
  const DecoderShape plain = shape(Json::object());
  EXPECT_EQ(plain.ffn, 256);
  EXPECT_TRUE(plain.tied && plain.mlp_bias && !plain.gated && !plain.rotary);
  EXPECT_EQ(plain.norm, NormKind::kLayerNorm);
  EXPECT_EQ(plain.learned_positions, 2048);
  // SwiGLU does not shrink the MLP to 8/3 h by itself.
  const DecoderShape swiglu = shape({{"activation", "swiglu"}});
  EXPECT_TRUE(swiglu.gated);
  EXPECT_EQ(swiglu.ffn, 256);
  EXPECT_EQ(shape({{"activation", "squared-relu"}}).activation, Activation::kSquaredRelu);
  const DecoderShape modern = shape({{"normalization", "RMSNorm"},
                                     {"position_embedding", "rope"},
                                     {"add_bias", false},
                                     {"num_query_groups", 2},
                                     {"untie_embeddings_and_output_weights", true}});
  EXPECT_EQ(modern.norm, NormKind::kRms);
  EXPECT_EQ(modern.kv_heads, 2);
  EXPECT_TRUE(modern.rotary && !modern.tied && !modern.q_bias);
  EXPECT_EQ(modern.learned_positions, 0);
}

TEST(ConfigFiles, WithoutModelTypeGoByTheirArchitecture) {
  const auto config = Parse(R"({"architectures": ["GPTNeoXForCausalLM"], "hidden_size": 512,
                                "num_attention_heads": 8})");
  EXPECT_EQ(ShapeOf(config, /*hand_written=*/false).family, "gpt_neox");
}

TEST(ConfigFiles, UnknownKeysAreIgnoredAndWrappersNoted) {
  const auto config = Parse(R"({"model_type": "llama", "a_new_key": [1, {"b": 2}]})");
  EXPECT_TRUE(ShapeOf(config, /*hand_written=*/false).notes.empty());
  const auto wrapper = Parse(ReadText("tests/model/data/gemma-3-27b.json"));
  ASSERT_EQ(ShapeOf(wrapper, /*hand_written=*/false).notes.size(), 1u);
}

TEST(OverrideConfig, ReplacesAKeyUnderAnyOfItsNames) {
  const auto merged = OverrideConfig(Preset("gpt2"), Parse(R"({"num_hidden_layers": 3})"));
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ(ShapeOf(*merged).layers, 3);
  EXPECT_EQ(ShapeOf(*merged).heads, 12);
}

TEST(OverrideConfig, ReachesIntoTheTextOfAWrapper) {
  const auto base = Parse(ReadText("tests/model/data/gemma-3-27b.json"));
  const auto merged = OverrideConfig(base, Parse(R"({"num_hidden_layers": 6, "name": "cut"})"));
  ASSERT_TRUE(merged.has_value());
  const DecoderShape s = ShapeOf(*merged, /*hand_written=*/false);
  EXPECT_EQ(s.layers, 6);
  EXPECT_EQ(s.hidden, 5376);
  EXPECT_EQ(s.name, "cut");
}

TEST(OverrideConfig, MergesNestedConfigs) {
  const auto merged =
      OverrideConfig(Parse(R"({"model_type": "mpt", "attn_config": {"qk_ln": true}})"),
                     Parse(R"({"attn_config": {"alibi": false}})"));
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ(ShapeOf(*merged).qk_norm, QkNorm::kFull);
  EXPECT_GT(ShapeOf(*merged).learned_positions, 0);
}

TEST(KnownNames, CoverEveryFamilyAndItsKeys) {
  const std::vector<std::string> types = KnownModelTypes();
  for (const char* type :
       {"llama",   "mistral",     "qwen2",     "qwen3",       "gemma",       "gemma2",
        "gemma3",  "gemma3_text", "phi",       "phi3",        "gpt2",        "gpt_neox",
        "gptj",    "falcon",      "mpt",       "bloom",       "opt",         "megatron_gpt",
        "mixtral", "qwen2_moe",   "qwen3_moe", "deepseek_v2", "deepseek_v3", "kimi_k2",
        "gpt_oss", "glm4_moe",    "llama4",    "llama4_text"})
    EXPECT_NE(std::find(types.begin(), types.end(), type), types.end()) << type;
  const std::vector<std::string> keys = KnownConfigKeys();
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  for (const char* key : {"model_type", "n_embd", "hidden_size", "n_routed_experts", "q_lora_rank"})
    EXPECT_TRUE(std::binary_search(keys.begin(), keys.end(), key)) << key;
}
}  // namespace
}  // namespace shardplan
