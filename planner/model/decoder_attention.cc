// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "planner/model/decoder_ops.h"

namespace shardplan {
namespace {

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
  op.score_bias = s.alibi;
  op.sinks = s.sinks;
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
  // Nanotron transposes it to sequence-first: a view of one sequence, a copy of several.
  op.saved.push_back({.what = "attention output, transposed",
                      .elements = out,
                      .cut = Cut::kTensor,
                      .kernels = kNanotron,
                      .batched_only = true});
  return op;
}
}  // namespace

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
}  // namespace shardplan
