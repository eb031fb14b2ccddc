// SPDX-License-Identifier: Apache-2.0
// The model as Megatron's flags.
#include <fmt/format.h>

#include <algorithm>

#include "planner/export/megatron.h"
#include "planner/export/model_config.h"

namespace shardplan {
namespace {

// [0]*3+[1]*58: which layers are of a kind, as Megatron evaluates it.
std::string Pattern(const std::vector<int>& ones) {
  std::string text;
  for (std::size_t i = 0; i < ones.size();) {
    std::size_t end = i;
    while (end < ones.size() && ones[end] == ones[i]) ++end;
    text += fmt::format("{}[{}]*{}", text.empty() ? "" : "+", ones[i], end - i);
    i = end;
  }
  return "(" + text + ")";
}

void AddAttention(const DecoderShape& s, Settings& flags, std::vector<Loss>& losses) {
  flags.Set("--num-attention-heads", s.heads);
  if (s.kv_lora_rank > 0) {
    flags.Set("--multi-latent-attention");
    if (s.q_lora_rank > 0) flags.Set("--q-lora-rank", s.q_lora_rank);
    flags.Set("--kv-lora-rank", s.kv_lora_rank);
    flags.Set("--qk-head-dim", s.qk_nope_head_dim);
    flags.Set("--qk-pos-emb-head-dim", s.qk_rope_head_dim);
    flags.Set("--v-head-dim", s.v_head_dim);
    // DeepSeek norms the compressed queries and keys.
    flags.Set("--qk-layernorm");
    return;
  }
  if (s.kv_heads != s.heads) {
    flags.Set("--group-query-attention");
    flags.Set("--num-query-groups", s.kv_heads);
  }
  if (s.head_dim * s.heads != s.hidden) flags.Set("--kv-channels", s.head_dim);
  if (s.qk_norm == QkNorm::kPerHead) flags.Set("--qk-layernorm");
  if (s.qk_norm == QkNorm::kFull)
    losses.push_back({"norm over all heads of queries and keys", "none"});
  if (s.sinks) flags.Set("--softmax-type", "learnable");
  if (s.window.empty()) return;
  const int widest = *std::max_element(s.window.begin(), s.window.end());
  if (widest == 0) return;
  flags.Set("--window-size", fmt::format("{},0", widest - 1));
  if (std::count(s.window.begin(), s.window.end(), 0) == 0) return;
  std::vector<int> windowed;
  for (const int width : s.window) windowed.push_back(width > 0 ? 1 : 0);
  flags.Set("--window-attn-skip-freq", Pattern(windowed));
}

void AddPositions(const ExportJob& job, Settings& flags, std::vector<Loss>& losses) {
  const DecoderShape& s = job.shape;
  const int positions = std::max(s.max_positions, job.training().seq_length);
  flags.Set("--max-position-embeddings", positions);
  flags.Set("--position-embedding-type", s.rotary                  ? "rope"
                                         : s.learned_positions > 0 ? "learned_absolute"
                                                                   : "none");
  if (s.rotary) {
    if (const auto base = RotaryBase(job.config))
      flags.Set("--rotary-base", static_cast<std::int64_t>(*base));
    if (const auto share = RotaryShare(job.config)) flags.Set("--rotary-percent", *share);
  }
  if (s.alibi) losses.push_back({"ALiBi", "no positions at all"});
  if (s.embedding_norm) losses.push_back({"norm after the embedding", "none"});
  if (s.embedding_dim > 0 && s.embedding_dim != s.hidden)
    losses.push_back({fmt::format("embedding of width {}", s.embedding_dim), "the hidden size"});
}

void AddMlp(const DecoderShape& s, Settings& flags, std::vector<Loss>& losses) {
  flags.Set("--ffn-hidden-size", s.ffn);
  const bool gelu = s.activation == Activation::kGelu || s.activation == Activation::kUnfusedGelu;
  if (s.gated && s.activation == Activation::kSilu) {
    flags.Set("--swiglu");
  } else if (s.gated && gelu) {
    flags.Set("--quick-geglu");
    losses.push_back({"gated MLP with GELU", "quick GELU: as large, other values"});
  } else if (!s.gated && s.activation == Activation::kSquaredRelu) {
    flags.Set("--squared-relu");
  } else if (s.gated || !gelu) {
    losses.push_back({"activation of the MLP", s.gated ? "SwiGLU" : "GELU"});
    if (s.gated) flags.Set("--swiglu");
  }
  const bool qkv = s.q_bias && s.kv_bias, all = qkv && s.out_bias && s.mlp_bias;
  if (all) return;
  flags.Set("--disable-bias-linear");
  if (qkv) flags.Set("--add-qkv-bias");
  if (s.out_bias || s.mlp_bias || s.q_bias != s.kv_bias)
    losses.push_back({"biases of some linear layers", "none of them"});
}

void AddExperts(const ExportJob& job, Settings& flags) {
  const DecoderShape& s = job.shape;
  if (s.experts == 0) return;
  flags.Set("--num-experts", s.experts);
  flags.Set("--moe-router-topk", s.top_k);
  flags.Set("--moe-ffn-hidden-size", s.expert_ffn);
  const std::vector<int> sparse(s.moe.begin(), s.moe.end());
  if (std::count(sparse.begin(), sparse.end(), 0) > 0)
    flags.Set("--moe-layer-freq", Pattern(sparse));
  if (s.shared_ffn > 0) flags.Set("--moe-shared-expert-intermediate-size", s.shared_ffn);
  if (s.shared_gate) flags.Set("--moe-shared-expert-gate");
  if (s.family == "deepseek_v3") {
    flags.Set("--moe-router-score-function", "sigmoid");
    flags.Set("--moe-router-enable-expert-bias");
  }
  flags.Set("--moe-router-load-balancing-type", Json::array({"aux_loss"}));
  flags.Set("--moe-aux-loss-coeff", Json::array({1e-2}));
  flags.Set("--moe-grouped-gemm");
  flags.Set("--moe-permute-fusion");
}

void AddNorms(const ExportJob& job, Settings& flags, std::vector<Loss>& losses) {
  const DecoderShape& s = job.shape;
  flags.Set("--normalization", s.norm == NormKind::kRms ? "RMSNorm" : "LayerNorm");
  if (const auto epsilon = NormEpsilon(job.config)) flags.Set("--norm-epsilon", *epsilon);
  if (s.norms_per_layer > 2) losses.push_back({"norms after attention and MLP", "none"});
  if (s.parallel_residual)
    losses.push_back({"attention and MLP beside each other", "one after the other"});
  if (s.soft_capped) losses.push_back({"soft-capped logits", "plain ones"});
}
}  // namespace

void AddMegatronModel(const ExportJob& job, Settings& flags, std::vector<Loss>& losses) {
  const DecoderShape& s = job.shape;
  flags.Set("--use-mcore-models");
  flags.Set("--num-layers", s.layers);
  flags.Set("--hidden-size", s.hidden);
  AddMlp(s, flags, losses);
  AddAttention(s, flags, losses);
  flags.Set("--seq-length", job.training().seq_length);
  AddPositions(job, flags, losses);
  AddNorms(job, flags, losses);
  if (!s.tied) flags.Set("--untie-embeddings-and-output-weights");
  if (s.head_bias) losses.push_back({"bias of the output layer", "none"});
  AddExperts(job, flags);
  if (s.mtp_layers > 0) flags.Set("--mtp-num-layers", s.mtp_layers);
  flags.Set("--attention-dropout", job.training().dropout);
  flags.Set("--hidden-dropout", job.training().dropout);
}
}  // namespace shardplan
