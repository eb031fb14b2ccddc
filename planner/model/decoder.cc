// SPDX-License-Identifier: Apache-2.0
#include "planner/model/decoder.h"

#include <algorithm>
#include <utility>

// Each builder below writes the rows of one part of a block. Which tensors a kernel set keeps is
// told by the numbers of planner/README.md, section "What each kernel set keeps".

namespace shardplan {
namespace {

constexpr std::uint16_t kTorchUnfused = kEager | kTitan;
constexpr std::uint16_t kMegatronStyle = kTransformerEngine | kMegatronLocal | kNanotron | kNative;

double Norms(const DecoderShape& s, double width) {
  if (!s.norm_weight) return 0;
  return s.norm == NormKind::kLayerNorm && s.norm_bias ? 2 * width : width;
}

// `consumers` products read the norm's output; under autocast each makes its own 16-bit copy.
Op Norm(const DecoderShape& s, const char* name, double consumers) {
  const double h = s.hidden;
  Op op{.name = name, .kind = OpKind::kPointwise, .module = Module::kLayernorm};
  op.vectors = Norms(s, h);
  op.traffic_fused = 2 * h;
  if (s.norm == NormKind::kRms) {
    op.traffic_eager = 18 * h;  // to fp32, square, mean, scale, back, times the weight
    op.launches_eager = 7;
    op.saved = {
        {.what = "norm input in fp32",
         .elements = h,
         .type = Elements::kFloat32,
         .kernels = kTorchUnfused | kAutocast},
        {.what = "normalized", .elements = h, .kernels = kTorchUnfused},
        {.what = "normalized", .elements = h, .type = Elements::kResidual, .kernels = kAutocast},
        {.what = "norm output", .elements = h, .kernels = kTorchUnfused},
    };
  } else {
    op.traffic_eager = 2 * h;
    op.saved = {
        {.what = "norm input",
         .elements = h,
         .type = Elements::kResidual,
         .kernels = kTorchUnfused | kAutocast},
        {.what = "norm output", .elements = h, .kernels = kTorchUnfused},
    };
  }
  op.saved.push_back({.what = "norm output, one 16-bit copy a product",
                      .elements = consumers * h,
                      .kernels = kAutocast});
  op.saved.push_back({.what = "norm input",
                      .elements = h,
                      .type = Elements::kResidual,
                      .kernels = kMegatronStyle | kCompiled});
  op.saved.push_back(
      {.what = "norm output", .elements = h, .type = Elements::kInput, .kernels = kMegatronStyle});
  // Nanotron's column-parallel products keep their all-gathered input.
  op.saved.push_back(
      {.what = "gathered input", .elements = h, .cut = Cut::kGathered, .kernels = kNanotron});
  return op;
}

Op Product(const char* name, double k, double n, bool bias) {
  Op op{.name = name, .kind = OpKind::kGemm, .n = n, .k = k};
  op.weights = n * k;
  op.vectors = bias ? n : 0;
  return op;
}
Op Column(const char* name, double k, double n, bool bias) {
  Op op = Product(name, k, n, bias);
  op.column = true;
  op.weight_cut = op.vector_cut = Cut::kTensor;
  return op;
}
Op Row(const char* name, double k, double n, bool bias) {
  Op op = Product(name, k, n, bias);
  op.row = true;
  op.weight_cut = Cut::kTensor;
  return op;
}

Op Residual(const DecoderShape& s, const char* name) {
  const double h = s.hidden;
  Op op{.name = name, .kind = OpKind::kPointwise};
  op.traffic_fused = op.traffic_eager = 3 * h;
  op.backward_traffic = 0.67;  // one add of two gradients
  op.saved = {{.what = "dropout mask",
               .elements = h,
               .type = Elements::kByte,
               .kernels = kAnyKernels & ~kCompiled,
               .dropout_only = true}};
  return op;
}

void QueryKeyNorm(const DecoderShape& s, double q, double kv, std::vector<Op>& ops) {
  if (s.qk_norm == QkNorm::kNone) return;
  Op op{.name = "qk_norm", .kind = OpKind::kPointwise, .module = Module::kLayernorm};
  op.vectors = s.qk_norm == QkNorm::kPerHead ? 2.0 * s.head_dim : q + kv;
  op.traffic_fused = 2 * (q + kv);
  op.traffic_eager = 18 * (q + kv);
  op.traffic_cut = Cut::kTensor;
  op.launches_eager = 14;
  op.saved = {
      {.what = "q, k in fp32",
       .elements = q + kv,
       .type = Elements::kFloat32,
       .cut = Cut::kTensor,
       .kernels = kTorchUnfused | kAutocast},
      {.what = "q, k normalized",
       .elements = q + kv,
       .cut = Cut::kTensor,
       .kernels = kTorchUnfused | kAutocast},
      {.what = "q, k before their norm",
       .elements = q + kv,
       .cut = Cut::kTensor,
       .kernels = kMegatronStyle | kCompiled},
  };
  ops.push_back(std::move(op));
}

void Rotary(const DecoderShape& s, double q, double kv, std::vector<Op>& ops) {
  if (!s.rotary) return;
  Op op{.name = "rotary", .kind = OpKind::kPointwise};
  op.traffic_fused = 2 * (q + kv);
  op.traffic_eager = 10 * (q + kv);
  op.traffic_cut = Cut::kTensor;
  op.launches_eager = 10;
  // The packed projection is what attention's v views; rotated q and k are new tensors.
  op.saved = {{.what = "rotated q, k",
               .elements = q + kv,
               .cut = Cut::kTensor,
               .kernels = kTransformerEngine | kMegatronLocal | kNanotron}};
  ops.push_back(std::move(op));
}

Op CoreAttention(const DecoderShape& s, double window, double qk_dim, double v_dim,
                 double kv_heads) {
  const double a = s.heads, out = a * v_dim;
  Op op{.name = "core_attn", .kind = OpKind::kAttention, .module = Module::kCoreAttention};
  op.heads = a;
  op.kv_heads = kv_heads;
  op.qk_dim = qk_dim;
  op.v_dim = v_dim;
  op.window = window;
  op.vectors = s.sinks ? a : 0;
  op.vector_cut = Cut::kTensor;
  op.traffic_cut = Cut::kTensor;
  op.saved = {
      // Eager attention. Transformers: softmax in fp32 and its 16-bit copy; k, v repeated to all
      // heads.
      {.what = "softmax in fp32",
       .per_score = 1,
       .type = Elements::kFloat32,
       .cut = Cut::kTensor,
       .kernels = kTorchUnfused | kAutocast,
       .attention = kEagerScores},
      {.what = "softmax",
       .per_score = 1,
       .cut = Cut::kTensor,
       .kernels = kAnyKernels,
       .attention = kEagerScores},
      {.what = "softmax dropout mask",
       .per_score = 1,
       .type = Elements::kByte,
       .cut = Cut::kTensor,
       .attention = kEagerScores,
       .dropout_only = true},
      {.what = "softmax after dropout",
       .per_score = 1,
       .cut = Cut::kTensor,
       .attention = kEagerScores,
       .dropout_only = true},
      {.what = "k, v repeated to all heads",
       .elements = (a - kv_heads) * (qk_dim + v_dim),
       .cut = Cut::kTensor,
       .kernels = kTorchUnfused | kAutocast,
       .attention = kEagerScores},
      {.what = "log-sum-exp",
       .elements = a,
       .type = Elements::kFloat32,
       .cut = Cut::kTensor,
       .attention = kFlash | kSdpa},
  };
  // The output: also the input of the output projection, kept once.
  op.saved.push_back({.what = "attention output",
                      .elements = out,
                      .cut = Cut::kTensor,
                      .until = Until::kBlockBackward});
  return op;
}

void Attention(const DecoderShape& s, double window, std::vector<Op>& ops) {
  const double h = s.hidden, d = s.head_dim, q = double(s.heads) * d, kv = double(s.kv_heads) * d;
  Op query = Column("q_proj", h, q, s.q_bias);
  Op key = Column("k_proj", h, kv, s.kv_bias), value = Column("v_proj", h, kv, s.kv_bias);
  key.joins = value.joins = true;
  key.weight_cut = key.vector_cut = value.weight_cut = value.vector_cut = Cut::kKv;
  query.saved = {{.what = "q", .elements = q, .cut = Cut::kTensor}};
  key.saved = {{.what = "k", .elements = kv, .cut = Cut::kKv}};
  value.saved = {{.what = "v", .elements = kv, .cut = Cut::kKv}};
  ops.push_back(std::move(query));
  ops.push_back(std::move(key));
  ops.push_back(std::move(value));
  QueryKeyNorm(s, q, kv, ops);
  Rotary(s, q, kv, ops);
  ops.push_back(CoreAttention(s, window, d, d, s.kv_heads));
  ops.push_back(Row("o_proj", q, h, s.out_bias));
}

// Multi-head latent attention, DeepSeek-V2 (arXiv 2405.04434), without weight absorption in
// training.
void LatentAttention(const DecoderShape& s, double window, std::vector<Op>& ops) {
  const double h = s.hidden, a = s.heads, nope = s.qk_nope_head_dim, rope = s.qk_rope_head_dim,
               v = s.v_head_dim;
  const double q = a * (nope + rope), rq = s.q_lora_rank, rkv = s.kv_lora_rank;
  const auto low_rank_norm = [&](const char* name, double width) {
    Op norm{.name = name, .kind = OpKind::kPointwise, .module = Module::kLayernorm};
    norm.vectors = width;
    norm.traffic_fused = 2 * width;
    norm.traffic_eager = 18 * width;
    norm.launches_eager = 7;
    norm.saved = {
        {.what = "low-rank input", .elements = width},
        {.what = "low-rank norm output", .elements = width, .kernels = kAnyKernels & ~kCompiled}};
    return norm;
  };
  if (rq > 0) {
    ops.push_back(Product("q_down_proj", h, rq, s.q_bias));
    ops.push_back(low_rank_norm("q_norm", rq));
    ops.push_back(Column("q_up_proj", rq, q, false));
    ops.back().module = Module::kMlaUpProjection;
  } else {
    ops.push_back(Column("q_proj", h, q, s.q_bias));
  }
  ops.back().saved = {{.what = "q up-projection",
                       .elements = q,
                       .cut = Cut::kTensor,
                       .kernels = kAnyKernels & ~kCompiled}};
  ops.push_back(Product("kv_down_proj", h, rkv + rope, s.kv_bias));
  ops.back().joins = true;
  ops.push_back(low_rank_norm("kv_norm", rkv));
  Op up = Column("kv_up_proj", rkv, a * (nope + v), false);
  up.module = Module::kMlaUpProjection;
  up.saved = {{.what = "kv up-projection", .elements = a * (nope + v), .cut = Cut::kTensor}};
  ops.push_back(std::move(up));
  Op rotary{.name = "rotary", .kind = OpKind::kPointwise, .module = Module::kMlaUpProjection};
  rotary.traffic_fused = 2 * (2 * q);
  rotary.traffic_eager = 6 * (2 * q);
  rotary.traffic_cut = Cut::kTensor;
  rotary.launches_eager = 14;
  rotary.saved = {{.what = "q with positions", .elements = q, .cut = Cut::kTensor},
                  {.what = "k with positions", .elements = q, .cut = Cut::kTensor}};
  ops.push_back(std::move(rotary));
  ops.push_back(CoreAttention(s, window, nope + rope, v, a));
  ops.push_back(Row("o_proj", a * v, h, s.out_bias));
}

// Bytes that the activation keeps, in tensors of the MLP's width.
void KeepActivation(const DecoderShape& s, double width, Cut cut, double copies, Op& op) {
  const auto keep = [&](const char* what, double tensors, std::uint16_t kernels) {
    op.saved.push_back(
        {.what = what, .elements = tensors * width * copies, .cut = cut, .kernels = kernels});
  };
  if (s.gated) {
    keep("gate, activated gate, up, product", 4, kTorchUnfused | kAutocast | kNanotron);
    keep("gate, up", 2, kCompiled);
    keep("gate, up", 2, kTransformerEngine | kMegatronLocal | kNative);
    op.saved.push_back({.what = "gated product",
                        .elements = width * copies,
                        .type = Elements::kInput,
                        .cut = cut,
                        .kernels = kTransformerEngine | kMegatronLocal | kNative});
  } else if (s.activation == Activation::kUnfusedGelu || s.activation == Activation::kSquaredRelu) {
    const double eager = s.activation == Activation::kUnfusedGelu ? 6 : 3;
    keep("activation's elementwise chain", eager, kEager | kTitan | kAutocast);
    keep("activation input, output", 2, kMegatronStyle);
    keep("activation input", 1, kCompiled);
  } else {
    keep("activation input, output", 2, kAnyKernels & ~kCompiled);
    keep("activation input", 1, kCompiled);
  }
}

Op ActivationOp(const DecoderShape& s, double width, Cut cut, double copies) {
  Op op{.name = "activation", .kind = OpKind::kPointwise, .module = Module::kActivation};
  op.traffic_cut = cut;
  op.traffic_fused = (s.gated ? 3 : 2) * width * copies;
  op.traffic_eager = (s.gated                                    ? 5
                      : s.activation == Activation::kUnfusedGelu ? 16
                      : s.activation == Activation::kSquaredRelu ? 4
                                                                 : 2) *
                     width * copies;
  op.launches_eager = s.gated ? 2 : s.activation == Activation::kUnfusedGelu ? 8 : 1;
  KeepActivation(s, width, cut, copies, op);
  return op;
}

void DenseMlp(const DecoderShape& s, double ffn, Module parent, std::vector<Op>& ops) {
  const std::size_t begin = ops.size();
  const double h = s.hidden;
  if (s.gated) {
    ops.push_back(Column("gate_proj", h, ffn, s.mlp_bias));
    ops.push_back(Column("up_proj", h, ffn, s.mlp_bias));
    ops.back().joins = true;
  } else {
    ops.push_back(Column("up_proj", h, ffn, s.mlp_bias));
  }
  ops.push_back(ActivationOp(s, ffn, Cut::kTensor, 1));
  ops.push_back(Row("down_proj", ffn, h, s.mlp_bias));
  for (std::size_t i = begin; i < ops.size(); ++i) ops[i].parent = parent;
}

void Experts(const DecoderShape& s, std::vector<Op>& ops) {
  const std::size_t begin = ops.size();
  const double h = s.hidden, e = s.experts, k = s.top_k, f = s.expert_ffn;
  Op router = Product("router", h, e, s.router_bias);
  router.saved = {
      {.what = "router logits, probabilities", .elements = 2 * e, .type = Elements::kFloat32}};
  ops.push_back(std::move(router));
  Op dispatch{.name = "dispatch",
              .kind = OpKind::kDispatch,
              .traffic_fused = 3 * k * h,
              .traffic_eager = 8 * k * h,
              .traffic_cut = Cut::kRouted,
              .launches_eager = 30,
              .routed = k};
  dispatch.saved = {{.what = "permuted input", .elements = k * h, .cut = Cut::kRouted},
                    {.what = "permutation", .elements = 2 * k, .type = Elements::kFloat32}};
  ops.push_back(std::move(dispatch));
  const auto grouped = [&](const char* name, double in, double out, bool column) {
    Op op = column ? Column(name, in, out, false) : Row(name, in, out, false);
    op.kind = OpKind::kGroupedGemm;
    op.weights = e * in * out;
    op.vectors = s.expert_bias ? e * out : 0;
    op.weight_cut = op.vector_cut = Cut::kExpert;
    op.routed = k;
    op.launches_eager = std::min(e, 16.0);
    ops.push_back(std::move(op));
  };
  if (s.gated) {
    grouped("expert_gate_proj", h, f, true);
    grouped("expert_up_proj", h, f, true);
    ops.back().joins = true;
  } else {
    grouped("expert_up_proj", h, f, true);
  }
  ops.push_back(ActivationOp(s, f, Cut::kExpert, k));
  ops.back().routed = k;
  grouped("expert_down_proj", f, h, false);
  Op combine{.name = "combine",
             .kind = OpKind::kCombine,
             .traffic_fused = 3 * k * h,
             .traffic_eager = 6 * k * h,
             .traffic_cut = Cut::kRouted,
             .launches_eager = 20,
             .routed = k};
  combine.saved = {{.what = "expert outputs before weighting",
                    .elements = 2 * k * h,
                    .cut = Cut::kRouted,
                    .kernels = kTorchUnfused | kAutocast}};
  ops.push_back(std::move(combine));
  if (s.shared_ffn > 0) {
    DenseMlp(s, s.shared_ffn, Module::kMoe, ops);
    for (std::size_t i = ops.size() - (s.gated ? 4 : 3); i < ops.size(); ++i)
      if (ops[i].module == Module::kOther) ops[i].module = Module::kSharedExperts;
    if (s.shared_gate) ops.push_back(Product("shared_expert_gate", h, 1, false));
  }
  for (std::size_t i = begin; i < ops.size(); ++i) ops[i].parent = Module::kMoe;
}

Block Layer(const DecoderShape& s, bool moe, int window) {
  Block block{.kind = moe ? "moe" : "dense", .ops = {}};
  std::vector<Op>& ops = block.ops;
  const double mlp_consumers = moe ? 1 : s.gated ? 2 : 1;
  ops.push_back(Norm(s, "input_norm", s.kv_lora_rank > 0 ? 2 : 3));
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
