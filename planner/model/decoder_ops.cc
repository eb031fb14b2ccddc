// SPDX-License-Identifier: Apache-2.0
#include "planner/model/decoder_ops.h"

namespace shardplan {

double NormParameters(const DecoderShape& s, double width) {
  if (!s.norm_weight) return 0;
  return s.norm == NormKind::kLayerNorm && s.norm_bias ? 2 * width : width;
}

Op Norm(const DecoderShape& s, const char* name, double consumers) {
  const double h = s.hidden;
  Op op{.name = name, .kind = OpKind::kPointwise, .module = Module::kLayernorm};
  op.vectors = NormParameters(s, h);
  op.traffic_fused = 2 * h;
  if (s.norm == NormKind::kRms) {
    op.traffic_eager = 18 * h;  // to fp32, square, mean, scale, back, times the weight
    op.launches_eager = 7;
    op.saved = {
        {.what = "norm input in fp32",
         .elements = h,
         .type = Elements::kFloat32,
         .kernels = kTorchUnfused | kAutocast},
        {.what = "normalized",
         .elements = h,
         .type = s.norm_in_fp32 ? Elements::kFloat32 : Elements::kCompute,
         .kernels = kTorchUnfused},
        {.what = "normalized", .elements = h, .type = Elements::kResidual, .kernels = kAutocast},
    };
    // Read by products; after a sandwich's second norm only the residual's add reads it.
    if (consumers > 0)
      op.saved.push_back({.what = "norm output", .elements = h, .kernels = kTorchUnfused});
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
  // Compilers save what products read in the backward pass: recomputing it could fuse with nothing
  // (ban_recompute_materialized_backward of functorch's partitioner).
  op.saved.push_back({.what = "norm output",
                      .elements = h,
                      .type = Elements::kInput,
                      .kernels = (kMegatronStyle & ~kNanotron) | kCompiled});
  // Nanotron's column-parallel products keep their all-gathered input instead.
  op.saved.push_back({.what = "norm output, gathered",
                      .elements = h,
                      .cut = Cut::kGathered,
                      .kernels = kNanotron});
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
}  // namespace shardplan
