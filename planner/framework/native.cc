// SPDX-License-Identifier: Apache-2.0
// shardplan's own sharded step: fused kernels, Megatron-style state, loss gradient in place.
#include "planner/framework/common.h"
#include "planner/framework/conventions.h"

namespace shardplan {

Conventions NativeConventions(const Training& training, const Model&) {
  Conventions c;
  const bool full = IsFull(training.precision);
  c.kernels = kNative;
  c.parameter_bytes = c.compute_bytes = c.residual_bytes = full ? 4 : 2;
  c.gradient_bytes = BytesOf(training.gradient_dtype);
  c.wire_gradient_bytes = BytesOf(training.reduce_dtype);
  c.gather_bytes = full ? 4 : 2;
  c.master_bytes = IsMixed(training.precision) ? 4 : 0;
  c.moment_bytes = MomentBytes(training.optimizer, BytesOf(training.optimizer_state_dtype));
  c.gradient_life = GradientLife::kWholeStep;
  c.logit_bytes_forward = c.logit_bytes_backward = 2;
  c.gradients_sharded_between_microbatches = true;
  c.vocab_multiple = 1;
  c.loading = LoadingStyle::kOwnShard;
  c.context_bytes = 0.6 * (1u << 30);
  c.fused_pointwise = true;
  c.layer_floor_seconds = 0.05e-3;
  c.tensor_backward_overlap = true;
  c.default_sp = true;
  c.time_deviation = 0.05;
  c.default_overlap = {
      .grad_reduce = true, .param_gather = true, .tp = false, .p2p = true, .moe = false};
  c.selective_modules = 1u << static_cast<int>(Module::kCoreAttention);
  return c;
}
}  // namespace shardplan
