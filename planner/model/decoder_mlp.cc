// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "planner/model/decoder_ops.h"

namespace shardplan {
namespace {

// Bytes that the activation keeps, in tensors of the MLP's width.
void KeepActivation(const DecoderShape& s, double width, Cut cut, double copies, Op& op) {
  const auto keep = [&](const char* what, double tensors, std::uint16_t kernels) {
    op.saved.push_back(
        {.what = what, .elements = tensors * width * copies, .cut = cut, .kernels = kernels});
  };
  if (s.gated) {
    keep("gate, activated gate, up, product", 4, kTorchUnfused | kAutocast | kNanotron);
    keep("gate, up, product", 3, kCompiled);
    keep("gate, up", 2, kTransformerEngine | kMegatronLocal | kNative);
    op.saved.push_back({.what = "gated product",
                        .elements = width * copies,
                        .type = Elements::kInput,
                        .cut = cut,
                        .kernels = kTransformerEngine | kMegatronLocal | kNative});
  } else if (s.activation == Activation::kUnfusedGelu || s.activation == Activation::kSquaredRelu) {
    // gelu_new: x, tanh, 1 + tanh, x/2 and the product. Autocast runs pow in fp32, and so all that
    // follows: x, tanh and 1 + tanh are fp32, x/2 and the product's copy 16 bits.
    const bool gelu = s.activation == Activation::kUnfusedGelu;
    keep("activation's elementwise chain", gelu ? 5 : 3, kEager | kTitan);
    keep("activation's elementwise chain", gelu ? 2 : 1, kAutocast);
    op.saved.push_back({.what = "activation's elementwise chain in fp32",
                        .elements = (gelu ? 3 : 2) * width * copies,
                        .type = Elements::kFloat32,
                        .cut = cut,
                        .kernels = kAutocast});
    keep("activation input, output", 2, kMegatronStyle);
    keep("activation input, output", 2, kCompiled);
  } else {
    keep("activation input, output", 2, kAnyKernels);
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
}  // namespace

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
              .routed_share = s.routed_share,
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
             .routed_share = s.routed_share,
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
}  // namespace shardplan
