// SPDX-License-Identifier: Apache-2.0
#include "planner/model/decoder.h"

#include <algorithm>
#include <utility>

#include "planner/model/decoder_ops.h"

namespace shardplan {
namespace {

Block Layer(const DecoderShape& s, bool moe, int window) {
  Block block{.kind = moe ? "moe" : "dense", .ops = {}};
  std::vector<Op>& ops = block.ops;
  const double mlp_consumers = !moe && s.gated && !s.packed_gate_up ? 2 : 1;
  ops.push_back(Norm(s, "input_norm", s.packed_qkv ? 1 : s.kv_lora_rank > 0 ? 2 : 3));
  if (s.kv_lora_rank > 0)
    LatentAttention(s, window, ops);
  else
    Attention(s, window, ops);
  if (s.norms_per_layer >= 4) ops.push_back(Norm(s, "post_attention_norm", 0));
  ops.push_back(Residual(s, "attention_residual"));
  if (s.norms_per_layer >= 2) ops.push_back(Norm(s, "mlp_norm", mlp_consumers));
  if (moe)
    Experts(s, ops);
  else
    DenseMlp(s, s.ffn, Module::kMlp, ops);
  if (s.norms_per_layer >= 4) ops.push_back(Norm(s, "post_mlp_norm", 0));
  ops.push_back(Residual(s, "mlp_residual"));
  return block;
}

Block Embedding(const DecoderShape& s) {
  Block block{.kind = "embedding", .ops = {}};
  const double h = s.hidden, width = s.embedding_dim > 0 ? s.embedding_dim : h;
  Op table{.name = "embedding",
           .kind = OpKind::kEmbedding,
           .traffic_fused = 2 * h,
           .traffic_eager = 2 * h};
  table.weights = double(s.vocab) * width;
  table.weight_cut = Cut::kTensor;
  table.saved = {
      {.what = "token ids", .elements = 2, .type = Elements::kFloat32, .cut = Cut::kWhole},
      {.what = "dropout mask", .elements = h, .type = Elements::kByte, .dropout_only = true}};
  block.ops.push_back(std::move(table));
  if (width != h) block.ops.push_back(Product("project_in", width, h, false));
  if (s.learned_positions > 0) {
    Op positions{.name = "positions",
                 .kind = OpKind::kPointwise,
                 .traffic_fused = 3 * h,
                 .traffic_eager = 3 * h};
    positions.weights = double(s.learned_positions) * h;
    block.ops.push_back(std::move(positions));
  }
  if (s.embedding_norm) block.ops.push_back(Norm(s, "embedding_norm", 0));
  return block;
}

Block Head(const DecoderShape& s) {
  Block block{.kind = "head", .ops = {}};
  const double h = s.hidden, width = s.embedding_dim > 0 ? s.embedding_dim : h;
  if (s.final_norm) block.ops.push_back(Norm(s, "final_norm", 1));
  if (width != h) block.ops.push_back(Product("project_out", h, width, false));
  Op head = Column("lm_head", width, s.vocab, s.head_bias);
  // A tied head owns no weight here: on one stage with the embedding it is the same tensor, on
  // another a copy, which the cost model adds.
  if (s.tied) head.weights = 0;
  block.ops.push_back(std::move(head));
  block.ops.push_back(Op{.name = "loss",
                         .kind = OpKind::kLoss,
                         .n = double(s.vocab),
                         .traffic_fused = 2.0 * s.vocab,
                         .traffic_eager = 9.0 * s.vocab,
                         .backward_traffic = 1,
                         .traffic_cut = Cut::kTensor,
                         .launches_eager = 6});
  return block;
}

// DeepSeek-V3's module (arXiv 2412.19437, section 2.2): two norms, a 2h -> h projection, one layer;
// embedding and head are the main model's.
Block MtpModule(const DecoderShape& s) {
  Block block = Layer(s, s.mtp_moe != 0, 0);
  block.kind = "mtp";
  std::vector<Op> ops;
  ops.push_back(Norm(s, "mtp_hidden_norm", 1));
  ops.push_back(Norm(s, "mtp_embedding_norm", 1));
  ops.push_back(Product("mtp_projection", 2.0 * s.hidden, s.hidden, false));
  ops.insert(ops.end(), block.ops.begin(), block.ops.end());
  ops.push_back(Norm(s, "mtp_final_norm", 1));
  block.ops = std::move(ops);
  return block;
}

}  // namespace

Model BuildDecoder(const DecoderShape& s) {
  Model model{.name = s.name, .family = s.family};
  model.facts = {.hidden_size = s.hidden,
                 .layers = s.layers,
                 .heads = s.heads,
                 .kv_heads = s.kv_heads,
                 .head_dim = s.head_dim,
                 .intermediate_size = s.ffn,
                 .vocab_size = s.vocab,
                 .max_positions = s.max_positions,
                 .experts = s.experts,
                 .experts_per_token = s.top_k,
                 .moe_intermediate_size = s.expert_ffn,
                 .mtp_layers = s.mtp_layers,
                 .soft_capped_logits = s.soft_capped,
                 .tied_embeddings = s.tied,
                 .gated_mlp = s.gated,
                 .mla = s.kv_lora_rank > 0,
                 .any_bias = s.q_bias || s.out_bias || s.mlp_bias};
  if (s.learned_positions > 0 && s.max_positions_given) model.facts.position_rows = s.max_positions;
  std::vector<std::pair<bool, int>> kinds;  // (moe, window) of each distinct block
  for (int i = 0; i < s.layers; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    const std::pair<bool, int> kind{at < s.moe.size() && s.moe[at] != 0,
                                    at < s.window.size() ? s.window[at] : 0};
    const auto found = std::find(kinds.begin(), kinds.end(), kind);
    if (found == kinds.end()) {
      kinds.push_back(kind);
      model.blocks.push_back(Layer(s, kind.first, kind.second));
      model.layers.push_back(static_cast<int>(kinds.size()) - 1);
    } else {
      model.layers.push_back(static_cast<int>(found - kinds.begin()));
    }
  }
  model.embedding = Embedding(s);
  model.head = Head(s);
  for (int i = 0; i < s.mtp_layers; ++i) model.mtp.push_back(MtpModule(s));
  return model;
}
}  // namespace shardplan
