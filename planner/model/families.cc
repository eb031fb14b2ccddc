// SPDX-License-Identifier: Apache-2.0
// The table of families. Defaults are those of transformers 5.24's config classes; megatron_gpt has
// Megatron-LM's; kimi_k2 and mimo, which come with their own code, derive from DeepSeek-V3's and
// Qwen2's. num_nextn_predict_layers is 0 where absent: the classes that know the key build no such
// module, so a model has one only where its config says so.
#include "planner/model/families.h"

#include <algorithm>

#include "planner/model/families_shapes.h"

namespace shardplan {
namespace {

using namespace nlohmann::literals;

std::vector<Family> DenseFamilies() {
  return {
      {.model_type = "llama",
       .classes = {"LlamaForCausalLM"},
       .defaults = R"({
         "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
         "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": null,
         "head_dim": null, "max_position_embeddings": 2048, "tie_word_embeddings": false,
         "hidden_act": "silu", "attention_bias": false, "mlp_bias": false})"_json,
       .shape = LlamaShape},
      {.model_type = "mistral",
       .classes = {"MistralForCausalLM"},
       .defaults = R"({
         "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336,
         "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
         "head_dim": null, "max_position_embeddings": 131072, "tie_word_embeddings": false,
         "hidden_act": "silu", "sliding_window": 4096, "layer_types": null})"_json,
       .shape = MistralShape},
      {.model_type = "qwen2",
       .also = {"qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"},
       .classes = {"Qwen2ForCausalLM"},
       .defaults = R"({
         "vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016,
         "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
         "head_dim": null, "max_position_embeddings": 32768, "tie_word_embeddings": false,
         "hidden_act": "silu", "use_sliding_window": false, "sliding_window": 4096,
         "max_window_layers": 28, "layer_types": null})"_json,
       .shape = Qwen2Shape},
      {.model_type = "qwen3",
       .also = {"qwen3_vl", "qwen3_vl_text"},
       .classes = {"Qwen3ForCausalLM"},
       .defaults = R"({
         "vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016,
         "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
         "head_dim": 128, "max_position_embeddings": 32768, "tie_word_embeddings": false,
         "hidden_act": "silu", "attention_bias": false, "use_sliding_window": false,
         "sliding_window": 4096, "max_window_layers": 28, "layer_types": null})"_json,
       .shape = Qwen3Shape},
      {.model_type = "mimo",
       .classes = {"MiMoForCausalLM"},
       .defaults = R"({
         "vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016,
         "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
         "head_dim": null, "max_position_embeddings": 32768, "tie_word_embeddings": false,
         "hidden_act": "silu", "attention_bias": true, "use_sliding_window": false,
         "sliding_window": 4096, "max_window_layers": 28, "layer_types": null,
         "num_nextn_predict_layers": 0})"_json,
       .shape = MimoShape},
      {.model_type = "phi3",
       .classes = {"Phi3ForCausalLM"},
       .defaults = R"({
         "vocab_size": 32064, "hidden_size": 3072, "intermediate_size": 8192,
         "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": null,
         "head_dim": null, "max_position_embeddings": 4096, "tie_word_embeddings": false,
         "hidden_act": "silu", "sliding_window": null, "layer_types": null})"_json,
       .shape = Phi3Shape},
      {.model_type = "gemma",
       .classes = {"GemmaForCausalLM"},
       .defaults = R"({
         "vocab_size": 256000, "hidden_size": 3072, "intermediate_size": 24576,
         "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 16,
         "head_dim": 256, "max_position_embeddings": 8192, "tie_word_embeddings": true,
         "hidden_act": "gelu_pytorch_tanh", "hidden_activation": null,
         "attention_bias": false})"_json,
       .shape = GemmaShape},
      {.model_type = "gemma2",
       .classes = {"Gemma2ForCausalLM"},
       .defaults = R"({
         "vocab_size": 256000, "hidden_size": 2304, "intermediate_size": 9216,
         "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
         "head_dim": 256, "max_position_embeddings": 8192, "tie_word_embeddings": true,
         "hidden_act": "gelu_pytorch_tanh", "hidden_activation": null, "attention_bias": false,
         "sliding_window": 4096, "layer_types": null, "final_logit_softcapping": 30.0})"_json,
       .shape = Gemma2Shape},
      {.model_type = "gemma3",
       .also = {"gemma3_text"},
       .classes = {"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"},
       .aliases = {{"_sliding_window_pattern", "sliding_window_pattern"}},
       .defaults = R"({
         "vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216,
         "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
         "head_dim": 256, "max_position_embeddings": 131072, "tie_word_embeddings": true,
         "hidden_act": "gelu_pytorch_tanh", "hidden_activation": null, "attention_bias": false,
         "sliding_window": 4096, "sliding_window_pattern": 6, "layer_types": null})"_json,
       .shape = Gemma3Shape},
  };
}

std::vector<Family> GptFamilies() {
  return {
      {.model_type = "gpt2",
       .classes = {"GPT2LMHeadModel"},
       .aliases = {{"n_embd", "hidden_size"},
                   {"n_layer", "num_hidden_layers"},
                   {"n_head", "num_attention_heads"},
                   {"n_inner", "intermediate_size"},
                   {"n_positions", "max_position_embeddings"},
                   {"activation_function", "hidden_act"}},
       .defaults = R"({
         "vocab_size": 50257, "hidden_size": 768, "intermediate_size": null,
         "num_hidden_layers": 12, "num_attention_heads": 12, "num_key_value_heads": null,
         "head_dim": null, "max_position_embeddings": 1024, "tie_word_embeddings": true,
         "hidden_act": "gelu_new", "add_cross_attention": false})"_json,
       .shape = Gpt2Shape},
      {.model_type = "gpt_neox",
       .classes = {"GPTNeoXForCausalLM"},
       .defaults = R"({
         "vocab_size": 50432, "hidden_size": 6144, "intermediate_size": 24576,
         "num_hidden_layers": 44, "num_attention_heads": 64, "num_key_value_heads": null,
         "head_dim": null, "max_position_embeddings": 2048, "tie_word_embeddings": false,
         "hidden_act": "gelu", "attention_bias": true, "use_parallel_residual": true})"_json,
       .shape = GptNeoxShape},
      {.model_type = "gptj",
       .classes = {"GPTJForCausalLM"},
       .aliases = {{"n_embd", "hidden_size"},
                   {"n_layer", "num_hidden_layers"},
                   {"n_head", "num_attention_heads"},
                   {"n_inner", "intermediate_size"},
                   {"n_positions", "max_position_embeddings"},
                   {"activation_function", "hidden_act"}},
       .defaults = R"({
         "vocab_size": 50400, "hidden_size": 4096, "intermediate_size": null,
         "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": null,
         "head_dim": null, "max_position_embeddings": 2048, "tie_word_embeddings": false,
         "hidden_act": "gelu_new"})"_json,
       .shape = GptJShape},
      {.model_type = "bloom",
       .classes = {"BloomForCausalLM"},
       .aliases = {{"n_embed", "hidden_size"},
                   {"n_layer", "num_hidden_layers"},
                   {"n_head", "num_attention_heads"},
                   {"seq_length", "max_position_embeddings"}},
       .defaults = R"({
         "vocab_size": 250880, "hidden_size": 64, "intermediate_size": null,
         "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": null,
         "head_dim": null, "max_position_embeddings": 2048, "tie_word_embeddings": true})"_json,
       .shape = BloomShape},
      {.model_type = "opt",
       .classes = {"OPTForCausalLM"},
       .aliases = {{"ffn_dim", "intermediate_size"}, {"activation_function", "hidden_act"}},
       .defaults = R"({
         "vocab_size": 50272, "hidden_size": 768, "intermediate_size": 3072,
         "num_hidden_layers": 12, "num_attention_heads": 12, "num_key_value_heads": null,
         "head_dim": null, "max_position_embeddings": 2048, "tie_word_embeddings": true,
         "hidden_act": "relu", "enable_bias": true, "layer_norm_elementwise_affine": true,
         "do_layer_norm_before": true, "_remove_final_layer_norm": false,
         "word_embed_proj_dim": null})"_json,
       .shape = OptShape},
      {.model_type = "mpt",
       .classes = {"MPTForCausalLM", "MptForCausalLM"},
       .aliases = {{"d_model", "hidden_size"},
                   {"n_layers", "num_hidden_layers"},
                   {"n_heads", "num_attention_heads"},
                   {"max_seq_len", "max_position_embeddings"}},
       .defaults = R"({
         "vocab_size": 50368, "hidden_size": 2048, "intermediate_size": null,
         "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": null,
         "head_dim": null, "max_position_embeddings": 2048, "tie_word_embeddings": true,
         "expansion_ratio": 4, "no_bias": true, "learned_pos_emb": true, "attn_config": {
           "attn_type": "multihead_attention", "kv_n_heads": null, "qk_ln": false, "alibi": true,
           "rope": false}})"_json,
       .shape = MptShape},
      {.model_type = "falcon",
       .also = {"RefinedWeb", "RefinedWebModel"},
       .classes = {"FalconForCausalLM", "RWForCausalLM"},
       .aliases = {{"n_embed", "hidden_size"},
                   {"n_layer", "num_hidden_layers"},
                   {"n_head", "num_attention_heads"},
                   {"num_kv_heads", "num_key_value_heads"},
                   {"n_head_kv", "num_key_value_heads"},
                   {"ffn_hidden_size", "intermediate_size"},
                   {"activation", "hidden_act"}},
       .defaults = R"({
         "vocab_size": 65024, "hidden_size": 4544, "intermediate_size": null,
         "num_hidden_layers": 32, "num_attention_heads": 71, "num_key_value_heads": null,
         "head_dim": null, "max_position_embeddings": 2048, "tie_word_embeddings": true,
         "hidden_act": "gelu", "bias": false, "alibi": false, "multi_query": true,
         "parallel_attn": true, "new_decoder_architecture": null,
         "num_ln_in_parallel_attn": null})"_json,
       .shape = FalconShape},
      {.model_type = "phi",
       .classes = {"PhiForCausalLM"},
       .defaults = R"({
         "vocab_size": 51200, "hidden_size": 2048, "intermediate_size": 8192,
         "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": null,
         "head_dim": null, "max_position_embeddings": 2048, "tie_word_embeddings": false,
         "hidden_act": "gelu_new", "qk_layernorm": false})"_json,
       .shape = PhiShape},
      {.model_type = "megatron_gpt",
       .aliases = {{"num_layers", "num_hidden_layers"},
                   {"num_query_groups", "num_key_value_heads"},
                   {"kv_channels", "head_dim"},
                   {"ffn_hidden_size", "intermediate_size"},
                   {"position_embedding_type", "position_embedding"},
                   {"add_bias_linear", "add_bias"},
                   {"window_size", "sliding_window"},
                   {"num_experts", "num_local_experts"},
                   {"moe_router_topk", "num_experts_per_tok"},
                   {"moe_ffn_hidden_size", "moe_intermediate_size"},
                   {"moe_shared_expert_intermediate_size", "shared_expert_intermediate_size"},
                   {"mtp_num_layers", "num_nextn_predict_layers"}},
       .defaults = R"({
         "vocab_size": 50257, "hidden_size": null, "intermediate_size": null,
         "num_hidden_layers": null, "num_attention_heads": null, "num_key_value_heads": null,
         "head_dim": null, "max_position_embeddings": 2048, "tie_word_embeddings": true,
         "untie_embeddings_and_output_weights": null, "activation": "gelu",
         "normalization": "LayerNorm", "position_embedding": "learned_absolute", "add_bias": true,
         "add_qkv_bias": false, "qk_layernorm": false, "sliding_window": null, "layer_types": null,
         "num_local_experts": null, "num_experts_per_tok": 2, "moe_intermediate_size": null,
         "shared_expert_intermediate_size": null, "first_k_dense_replace": 0,
         "num_nextn_predict_layers": 0})"_json,
       .shape = MegatronGptShape},
  };
}

std::vector<Family> MoeFamilies() {
  return {
      {.model_type = "mixtral",
       .classes = {"MixtralForCausalLM"},
       .aliases = {{"num_experts", "num_local_experts"},
                   {"moe_intermediate_size", "intermediate_size"}},
       .defaults = R"({
         "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336,
         "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
         "head_dim": null, "max_position_embeddings": 131072, "tie_word_embeddings": false,
         "hidden_act": "silu", "sliding_window": null, "layer_types": null,
         "num_local_experts": 8, "num_experts_per_tok": 2})"_json,
       .shape = MixtralShape},
      {.model_type = "qwen2_moe",
       .classes = {"Qwen2MoeForCausalLM"},
       .aliases = {{"num_experts", "num_local_experts"}},
       .defaults = R"({
         "vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 5632,
         "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16,
         "head_dim": null, "max_position_embeddings": 32768, "tie_word_embeddings": false,
         "hidden_act": "silu", "qkv_bias": true, "use_sliding_window": false,
         "sliding_window": 4096, "max_window_layers": 28, "layer_types": null,
         "num_local_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408,
         "shared_expert_intermediate_size": 5632, "decoder_sparse_step": 1,
         "mlp_only_layers": null})"_json,
       .shape = Qwen2MoeShape},
      {.model_type = "qwen3_moe",
       .also = {"qwen3_vl_moe", "qwen3_vl_moe_text"},
       .classes = {"Qwen3MoeForCausalLM"},
       .aliases = {{"num_experts", "num_local_experts"}},
       .defaults = R"({
         "vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 6144,
         "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 4,
         "head_dim": null, "max_position_embeddings": 32768, "tie_word_embeddings": false,
         "hidden_act": "silu", "attention_bias": false, "use_sliding_window": false,
         "sliding_window": 4096, "max_window_layers": 28, "layer_types": null,
         "num_local_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
         "decoder_sparse_step": 1, "mlp_only_layers": null})"_json,
       .shape = Qwen3MoeShape},
      {.model_type = "deepseek_v2",
       .classes = {"DeepseekV2ForCausalLM"},
       .aliases = {{"n_routed_experts", "num_local_experts"}, {"num_experts", "num_local_experts"}},
       .defaults = R"({
         "vocab_size": 102400, "hidden_size": 4096, "intermediate_size": 11008,
         "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": null,
         "head_dim": null, "max_position_embeddings": 2048, "tie_word_embeddings": false,
         "hidden_act": "silu", "attention_bias": false, "mlp_bias": false, "q_lora_rank": 1536,
         "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
         "num_local_experts": 64, "num_experts_per_tok": null, "moe_intermediate_size": 1407,
         "n_shared_experts": 2, "first_k_dense_replace": 0, "moe_layer_freq": 1,
         "num_nextn_predict_layers": 0})"_json,
       .shape = DeepseekShape},
      {.model_type = "deepseek_v3",
       .classes = {"DeepseekV3ForCausalLM"},
       .aliases = {{"n_routed_experts", "num_local_experts"},
                   {"num_experts", "num_local_experts"},
                   {"num_mtp_layers", "num_nextn_predict_layers"}},
       .defaults = R"({
         "vocab_size": 129280, "hidden_size": 7168, "intermediate_size": 18432,
         "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": null,
         "head_dim": null, "max_position_embeddings": 4096, "tie_word_embeddings": false,
         "hidden_act": "silu", "attention_bias": false, "mlp_bias": false, "q_lora_rank": 1536,
         "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
         "num_local_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
         "n_shared_experts": 1, "n_group": 8, "topk_group": 4, "first_k_dense_replace": 3, "moe_layer_freq": 1,
         "num_nextn_predict_layers": 0})"_json,
       .shape = DeepseekV3Shape},
      {.model_type = "kimi_k2",
       .aliases = {{"n_routed_experts", "num_local_experts"},
                   {"num_experts", "num_local_experts"},
                   {"num_mtp_layers", "num_nextn_predict_layers"}},
       .defaults = R"({
         "vocab_size": 129280, "hidden_size": 7168, "intermediate_size": 18432,
         "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": null,
         "head_dim": null, "max_position_embeddings": 4096, "tie_word_embeddings": false,
         "hidden_act": "silu", "attention_bias": false, "mlp_bias": false, "q_lora_rank": 1536,
         "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
         "num_local_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
         "n_shared_experts": 1, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 3, "moe_layer_freq": 1,
         "num_nextn_predict_layers": 0})"_json,
       .shape = DeepseekV3Shape},
      {.model_type = "gpt_oss",
       .classes = {"GptOssForCausalLM"},
       .aliases = {{"num_experts", "num_local_experts"},
                   {"experts_per_token", "num_experts_per_tok"},
                   {"moe_intermediate_size", "intermediate_size"}},
       .defaults = R"({
         "vocab_size": 201088, "hidden_size": 2880, "intermediate_size": 2880,
         "num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8,
         "head_dim": 64, "max_position_embeddings": 131072, "tie_word_embeddings": false,
         "hidden_act": "silu", "attention_bias": true, "sliding_window": 128,
         "layer_types": null, "num_local_experts": 128, "num_experts_per_tok": 4})"_json,
       .shape = GptOssShape},
      {.model_type = "glm4_moe",
       .also = {"glm4v_moe", "glm4v_moe_text"},
       .classes = {"Glm4MoeForCausalLM"},
       .aliases = {{"n_routed_experts", "num_local_experts"},
                   {"num_experts", "num_local_experts"},
                   {"num_mtp_layers", "num_nextn_predict_layers"}},
       .defaults = R"({
         "vocab_size": 151552, "hidden_size": 4096, "intermediate_size": 10944,
         "num_hidden_layers": 46, "num_attention_heads": 96, "num_key_value_heads": 8,
         "head_dim": null, "max_position_embeddings": 131072, "tie_word_embeddings": false,
         "hidden_act": "silu", "attention_bias": false, "use_qk_norm": false,
         "num_local_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 1408,
         "n_shared_experts": 1, "first_k_dense_replace": 1, "moe_layer_freq": 1,
         "num_nextn_predict_layers": 0})"_json,
       .shape = Glm4MoeShape},
      {.model_type = "llama4",
       .also = {"llama4_text"},
       .classes = {"Llama4ForCausalLM", "Llama4ForConditionalGeneration"},
       .aliases = {{"num_experts", "num_local_experts"},
                   {"moe_intermediate_size", "intermediate_size"}},
       .defaults = R"({
         "vocab_size": 202048, "hidden_size": 5120, "intermediate_size": 8192,
         "intermediate_size_mlp": 16384, "num_hidden_layers": 48, "num_attention_heads": 40,
         "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 131072,
         "tie_word_embeddings": false, "hidden_act": "silu", "attention_bias": false,
         "num_local_experts": 16, "num_experts_per_tok": 1, "moe_layers": null,
         "interleave_moe_layer_step": 1, "attention_chunk_size": 8192, "no_rope_layers": null,
         "no_rope_layer_interval": 4, "layer_types": null, "use_qk_norm": true})"_json,
       .shape = Llama4Shape},
  };
}

std::vector<Family> AllFamilies() {
  std::vector<Family> all = DenseFamilies();
  for (std::vector<Family> some : {GptFamilies(), MoeFamilies()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

struct Missing {
  std::string_view why;
  std::vector<std::string_view> model_types;
};

// Known by name, so that the answer is not "did you mean".
const std::vector<Missing>& MissingKinds() {
  static const std::vector<Missing> kinds = {
      {"it is an encoder, and shardplan has no builder for encoders yet",
       {"bert", "roberta", "xlm-roberta", "distilbert", "deberta-v2", "electra", "modernbert"}},
      {"it is an encoder-decoder, and shardplan has no builder for those yet",
       {"t5", "mt5", "umt5", "bart", "mbart", "pegasus", "whisper"}},
      {"it is a vision transformer, and shardplan has no builder for those yet",
       {"vit", "deit", "swin", "clip", "siglip", "dinov2"}},
      {"it is a diffusion transformer, and shardplan has no builder for those yet",
       {"dit", "mmdit", "flux"}},
      {"it is a diffusion UNet, and shardplan has no builder for convolutions yet", {"unet"}},
      {"it is a convolutional network, and shardplan has no builder for convolutions yet",
       {"resnet", "convnext", "efficientnet"}},
      {"it is a recommender, and shardplan has no builder for embedding bags yet", {"dlrm"}},
      {"it has Mamba layers, and shardplan has no builder for state-space layers yet",
       {"mamba", "mamba2", "nemotron_h", "jamba", "bamba", "falcon_mamba", "zamba2"}},
      {"it has linear attention, and shardplan has no builder for that yet",
       {"qwen3_next", "qwen3_5", "qwen3_5_moe", "minimax", "kimi_linear", "rwkv"}},
  };
  return kinds;
}
}  // namespace

const std::vector<Family>& Families() {
  static const std::vector<Family> families = AllFamilies();
  return families;
}

const Family* FindFamily(std::string_view model_type) {
  for (const Family& family : Families())
    if (family.model_type == model_type ||
        std::find(family.also.begin(), family.also.end(), model_type) != family.also.end())
      return &family;
  return nullptr;
}

const Family* FindFamilyByClass(std::string_view architecture) {
  for (const Family& family : Families())
    if (std::find(family.classes.begin(), family.classes.end(), architecture) !=
        family.classes.end())
      return &family;
  return nullptr;
}

std::optional<std::string_view> WhyNoFamily(std::string_view model_type) {
  for (const Missing& missing : MissingKinds())
    if (std::find(missing.model_types.begin(), missing.model_types.end(), model_type) !=
        missing.model_types.end())
      return missing.why;
  return std::nullopt;
}

std::optional<std::string_view> MissingFamilyOf(std::string_view model_name) {
  if (model_name.starts_with("stable-diffusion")) return "unet";
  for (const Missing& missing : MissingKinds())
    for (std::string_view type : missing.model_types)
      if (model_name.starts_with(type) &&
          (model_name.size() == type.size() || model_name[type.size()] == '-'))
        return type;
  return std::nullopt;
}
}  // namespace shardplan
