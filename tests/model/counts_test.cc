// SPDX-License-Identifier: Apache-2.0
// Parameter counts against what is published, to the digit.
#include <string>

#include "tests/model/configs.h"

namespace shardplan {
namespace {

struct Published {
  const char* preset;
  double parameters;
  double active = 0;  // 0: all
};

// Counted on the meta device by transformers 5.24.0 (AutoModelForCausalLM.from_config of the
// preset's keys, each shared tensor once; of experts num_experts_per_tok / experts for `active`).
// DeepSeek-V3's class with its e_score_correction_bias, which DeepSeek's own code holds as a
// parameter. Measured runs (one H200) and checkpoint sizes  say the same
// where they have the model. Falcon 40B's and 180B's files hold the tied head a second time.
constexpr Published kPublished[] = {
    {"bloom-176b", 176'247'271'424},
    {"bloom-7b1", 7'069'016'064},
    {"codellama-34b", 33'743'970'304},
    {"deepseek-v2", 235'741'434'880, 21'375'800'320},
    {"deepseek-v2-lite", 15'706'484'224, 2'661'150'208},
    {"deepseek-v3", 671'026'419'200, 37'552'297'472},
    {"falcon-180b", 178'557'088'768},
    {"falcon-40b", 41'303'293'952},
    {"falcon-7b", 6'921'720'704},
    {"gemma-2-27b", 27'227'128'320},
    {"gemma-2-2b", 2'614'341'888},
    {"gemma-2-9b", 9'241'705'984},
    {"gemma-2b", 2'506'172'416},
    {"gemma-3-1b", 999'885'952},
    {"gemma-3-27b", 27'009'346'304},
    {"gemma-7b", 8'537'680'896},
    {"glm-4.5", 352'797'814'784, 33'632'251'904},
    {"glm-4.5-air", 106'852'245'504, 13'424'123'904},
    {"gpt-j-6b", 6'050'882'784},
    {"gpt-neox-20b", 20'554'567'680},
    {"gpt-oss-120b", 116'829'156'672, 5'711'982'912},
    {"gpt-oss-20b", 20'914'757'184, 4'187'440'704},
    {"gpt2", 124'439'808},
    {"gpt2-large", 774'030'080},
    {"gpt2-medium", 354'823'168},
    {"gpt2-xl", 1'557'611'200},
    {"kimi-k2", 1'026'408'232'448, 32'861'500'928},
    {"llama-2-13b", 13'015'864'320},
    {"llama-2-70b", 68'976'648'192},
    {"llama-2-7b", 6'738'415'616},
    {"llama-3-70b", 70'553'706'496},
    {"llama-3-8b", 8'030'261'248},
    {"llama-3.1-405b", 405'853'388'800},
    {"llama-3.1-70b", 70'553'706'496},
    {"llama-3.1-8b", 8'030'261'248},
    {"llama-3.2-1b", 1'235'814'400},
    {"llama-3.2-3b", 3'212'749'824},
    {"llama-4-maverick", 400'711'848'960, 17'184'691'200},
    {"llama-4-scout", 107'769'861'120, 17'172'894'720},
    {"mimo-7b", 7'622'619'136},
    {"mistral-7b", 7'241'732'096},
    {"mistral-nemo-12b", 12'247'782'400},
    {"mixtral-8x22b", 140'620'634'112, 39'152'031'744},
    {"mixtral-8x7b", 46'702'792'704, 12'879'925'248},
    {"moonlight-16b-a3b", 15'960'110'208, 2'914'776'192},
    {"mpt-30b", 29'957'200'896},
    {"mpt-7b", 6'649'286'656},
    {"opt-125m", 125'239'296},
    {"opt-175b", 174'604'468'224},
    {"opt-350m", 331'196'416},
    {"opt-6.7b", 6'658'473'984},
    {"opt-66b", 65'719'701'504},
    {"phi-1.5", 1'418'270'720},
    {"phi-2", 2'779'683'840},
    {"phi-3-mini", 3'821'079'552},
    {"phi-4", 14'659'507'200},
    {"pythia-6.9b", 6'857'302'016},
    {"qwen1.5-moe-a2.7b", 14'315'784'192, 2'689'173'504},
    {"qwen2-0.5b", 494'032'768},
    {"qwen2-1.5b", 1'543'714'304},
    {"qwen2-57b-a14b", 57'408'658'944, 14'249'270'784},
    {"qwen2-72b", 72'706'203'648},
    {"qwen2-7b", 7'615'616'512},
    {"qwen2.5-14b", 14'770'033'664},
    {"qwen2.5-32b", 32'763'876'352},
    {"qwen2.5-72b", 72'706'203'648},
    {"qwen2.5-7b", 7'615'616'512},
    {"qwen3-0.6b", 596'049'920},
    {"qwen3-14b", 14'768'307'200},
    {"qwen3-235b-a22b", 235'093'634'560, 22'190'763'520},
    {"qwen3-30b-a3b", 30'532'122'624, 3'353'032'704},
    {"qwen3-32b", 32'762'123'264},
    {"qwen3-4b", 4'022'468'096},
    {"qwen3-8b", 8'190'735'360},
    {"tinyllama-1.1b", 1'100'048'384},
};

TEST(PublishedCounts, AreMetToTheDigit) {
  static_assert(std::size(kPublished) >= 40);
  for (const Published& model : kPublished) {
    const ParameterCount count = CountOf(Preset(model.preset));
    EXPECT_EQ(count.total, model.parameters) << model.preset;
    EXPECT_EQ(count.active, model.active > 0 ? model.active : model.parameters) << model.preset;
  }
}

// Billions as printed in arXiv 2104.04473, table 1 (175B, 530B, 1T) and 2205.05198, table 3 (22B).
TEST(PublishedCounts, OfMegatronsOwnModelsAreMetToTheirPrintedDigit) {
  EXPECT_NEAR(CountOf(Preset("gpt3-22b")).total / 1e9, 22, 0.1);
  EXPECT_NEAR(CountOf(Preset("gpt3-175b")).total / 1e9, 174.6, 0.05);
  EXPECT_NEAR(CountOf(Preset("mt-nlg-530b")).total / 1e9, 529.6, 0.05);
  EXPECT_NEAR(CountOf(Preset("gpt-1t")).total / 1e9, 1008.0, 0.05);
}

// Random small configs of every family in transformers, so that each key changes the count as it
// changes the class: eight a family, generated once, counted in the same way as above.
TEST(TransformersCounts, AreMetByEveryFamily) {
  std::istringstream lines(ReadText("tests/model/data/transformers_counts.jsonl"));
  int rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    const nlohmann::json row = Parse(line);
    const ParameterCount count = CountOf(row.at("config"), /*hand_written=*/false);
    EXPECT_EQ(count.total, row.at("parameters").get<double>()) << line;
    EXPECT_EQ(count.active, row.at("active").get<double>()) << line;
  }
  EXPECT_EQ(rows, 200);
}

struct ConfigFile {
  const char* name;
  double parameters, active, mtp;
};
// Whole files with all their noise, as they are on huggingface.co.
constexpr ConfigFile kFiles[] = {
    {"llama-3.1-8b", 8'030'261'248, 8'030'261'248, 0},
    {"qwen3-30b-a3b", 30'532'122'624, 3'353'032'704, 0},
    {"deepseek-v3", 671'026'419'200, 37'552'297'472, 11'610'068'224},
    {"gemma-3-27b", 27'009'346'304, 27'009'346'304, 0},
    {"falcon-7b", 6'921'720'704, 6'921'720'704, 0},
    {"gpt2", 124'439'808, 124'439'808, 0},
    {"qwen2.5-vl-3b", 3'085'938'688, 3'085'938'688, 0},
    {"llama-4-scout", 107'769'861'120, 17'172'894'720, 0},
};

TEST(ConfigFiles, CountAsPublished) {
  for (const ConfigFile& file : kFiles) {
    const nlohmann::json config =
        Parse(ReadText("tests/model/data/" + std::string(file.name) + ".json"));
    const ParameterCount count = CountOf(config, /*hand_written=*/false);
    EXPECT_EQ(count.total, file.parameters) << file.name;
    EXPECT_EQ(count.active, file.active) << file.name;
    EXPECT_EQ(count.mtp, file.mtp) << file.name;
  }
}

// A preset is the same model as the file that it was taken from.
TEST(ConfigFiles, AgreeWithTheirPresets) {
  for (const char* name : {"llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v3", "gemma-3-27b",
                           "falcon-7b", "gpt2", "llama-4-scout"}) {
    const nlohmann::json config =
        Parse(ReadText("tests/model/data/" + std::string(name) + ".json"));
    const DecoderShape file = ShapeOf(config, /*hand_written=*/false);
    const DecoderShape preset = ShapeOf(Preset(name));
    EXPECT_EQ(file.family, preset.family) << name;
    EXPECT_EQ(file.window, preset.window) << name;
    EXPECT_EQ(file.moe, preset.moe) << name;
    EXPECT_EQ(file.activation, preset.activation) << name;
    EXPECT_EQ(file.max_positions, preset.max_positions) << name;
    EXPECT_EQ(CountParameters(BuildDecoder(file)).total,
              CountParameters(BuildDecoder(preset)).total)
        << name;
  }
}

// The odd_input cases of the field evidence; their counts were derived from tensor shapes.
TEST(FieldCases, HeadDimIsNotHiddenByHeads) {  // odd-001
  const auto config = Parse(R"({"model_type": "qwen3", "hidden_size": 1024,
      "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
      "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
      "tie_word_embeddings": true, "attention_bias": false})");
  EXPECT_EQ(CountOf(config).total, 596'049'920);
  EXPECT_EQ(CountOf(config).total - CountOf(config).embedding, 440'467'456);
}

TEST(FieldCases, LatentAttentionWithLeadingDenseLayersAndMtp) {  // odd-003
  const auto config = Parse(R"({"model_type": "deepseek_v3", "hidden_size": 7168,
      "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_hidden_layers": 61,
      "first_k_dense_replace": 3, "moe_layer_freq": 1, "n_routed_experts": 256,
      "n_shared_experts": 1, "num_experts_per_tok": 8, "num_attention_heads": 128,
      "num_key_value_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512,
      "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280,
      "num_nextn_predict_layers": 1, "tie_word_embeddings": false})");
  EXPECT_EQ(CountOf(config).total, 671'026'419'200);
  EXPECT_EQ(CountOf(config).mtp, 11'610'068'224);
}

TEST(FieldCases, KimiK2IsDeepseekV3WithOtherNumbers) {  // odd-004
  const auto config = Parse(R"({"model_type": "kimi_k2", "architectures": ["DeepseekV3ForCausalLM"],
      "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
      "num_hidden_layers": 61, "first_k_dense_replace": 1, "n_routed_experts": 384,
      "n_shared_experts": 1, "num_experts_per_tok": 8, "num_attention_heads": 64,
      "num_key_value_heads": 64, "q_lora_rank": 1536, "kv_lora_rank": 512,
      "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 163840,
      "num_nextn_predict_layers": 0})");
  EXPECT_EQ(CountOf(config).total, 1'026'408'232'448);
  EXPECT_EQ(CountOf(config).active, 32'861'500'928);
}

TEST(FieldCases, IntermediateSizeIsUnusedWhereAllLayersHaveExperts) {  // odd-006
  auto config = Parse(R"({"model_type": "qwen3_moe", "hidden_size": 2048,
      "intermediate_size": 6144, "moe_intermediate_size": 768, "num_hidden_layers": 48,
      "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128,
      "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [],
      "vocab_size": 151936, "tie_word_embeddings": false})");
  EXPECT_EQ(CountOf(config).total, 30'532'122'624);
  EXPECT_EQ(CountOf(config).active, 3'353'032'704);
  config["intermediate_size"] = 1;
  EXPECT_EQ(CountOf(config).total, 30'532'122'624);
}

TEST(FieldCases, SharedExpertWithItsGate) {  // odd-007
  const auto config = Parse(R"({"model_type": "qwen2_moe", "hidden_size": 2048,
      "intermediate_size": 5632, "moe_intermediate_size": 1408,
      "shared_expert_intermediate_size": 5632, "num_hidden_layers": 24,
      "num_attention_heads": 16, "num_key_value_heads": 16, "num_experts": 60,
      "num_experts_per_tok": 4, "vocab_size": 151936, "tie_word_embeddings": false})");
  EXPECT_EQ(CountOf(config).total, 14'315'784'192);
  EXPECT_EQ(CountOf(config).active, 2'689'173'504);
}

TEST(FieldCases, MixtralIsNotEightTimesSevenBillion) {  // odd-008
  const auto config = Parse(R"({"model_type": "mixtral", "hidden_size": 4096,
      "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
      "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2,
      "vocab_size": 32000, "sliding_window": null, "tie_word_embeddings": false})");
  EXPECT_EQ(CountOf(config).total, 46'702'792'704);
  EXPECT_EQ(CountOf(config).active, 12'879'925'248);
}

TEST(FieldCases, OneKeyValueHeadForSeventyOneHeads) {  // odd-009
  const auto config = Parse(R"({"model_type": "falcon", "hidden_size": 4544,
      "num_hidden_layers": 32, "num_attention_heads": 71, "multi_query": true,
      "parallel_attn": true, "vocab_size": 65024})");
  EXPECT_EQ(CountOf(config).total, 6'921'720'704);
  EXPECT_EQ(ShapeOf(config).kv_heads, 1);
}

TEST(FieldCases, HybridsWithMambaAreRefusedByName) {  // odd-013
  const std::string problem = ProblemOf(R"({"model_type": "nemotron_h",
      "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*", "num_hidden_layers": 52})");
  EXPECT_EQ(problem.substr(0, problem.find('\n')),
            "model_type: nemotron_h is not supported: it has Mamba layers, and shardplan has no "
            "builder for state-space layers yet");
}

TEST(FieldCases, MtpIsCountedApart) {  // odd-019
  const auto config = Parse(R"({"model_type": "mimo", "hidden_size": 4096,
      "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 32,
      "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151680, "attention_bias": true,
      "num_nextn_predict_layers": 1, "tie_word_embeddings": false})");
  EXPECT_EQ(CountOf(config).total, 7'622'619'136);
  EXPECT_GT(CountOf(config).mtp, 0);
}

// odd-022: the flag stands beside text_config in some files and inside it in others.
TEST(FieldCases, TyingIsReadFromBothLevelsOfAWrapper) {
  const auto config = [](bool outer, const char* inner) {
    nlohmann::json text = {{"model_type", "qwen2"}, {"num_hidden_layers", 2}};
    if (*inner != '\0') text["tie_word_embeddings"] = Parse(inner);
    return nlohmann::json{
        {"model_type", "some_vl"}, {"tie_word_embeddings", outer}, {"text_config", text}};
  };
  EXPECT_TRUE(ShapeOf(config(true, "")).tied);
  EXPECT_TRUE(ShapeOf(config(true, "null")).tied);
  EXPECT_TRUE(ShapeOf(config(false, "true")).tied);
  EXPECT_FALSE(ShapeOf(config(true, "false")).tied);
  EXPECT_FALSE(ShapeOf(config(false, "")).tied);
}
}  // namespace
}  // namespace shardplan
