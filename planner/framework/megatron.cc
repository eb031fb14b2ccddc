// SPDX-License-Identifier: Apache-2.0
// Megatron-LM / Megatron-Core (also Bridge, NeMo and Megatron-DeepSpeed).
#include "planner/framework/common.h"
#include "planner/framework/conventions.h"

namespace shardplan {

Conventions MegatronConventions(const Training& training, const Model&) {
  Conventions c;
  const bool full = IsFull(training.precision);
  // Without Transformer Engine attention is unfused and the older fused kernels run.
  const bool local = training.attention == AttentionImpl::kEager;
  c.kernels = local ? kMegatronLocal : kTransformerEngine;
  c.parameter_bytes = full ? 4 : 2;
  // Transformer Engine keeps the fp8 weight and its transpose beside the 16-bit one.
  if (IsNarrow(training.precision) && !training.fp8_params) c.parameter_bytes += 2;
  c.compute_bytes = c.residual_bytes = full ? 4 : 2;
  c.gradient_bytes = BytesOf(training.gradient_dtype);
  c.wire_gradient_bytes = BytesOf(training.reduce_dtype);
  c.gather_bytes = full ? 4 : 2;
  c.master_bytes = full ? 0 : 4;
  c.moment_bytes = MomentBytes(training.optimizer, BytesOf(training.optimizer_state_dtype));
  // Half-precision gradients are cast to fp32 for the optimizer, its own shard only.
  c.sharded_fp32_gradient_bytes = training.gradient_dtype == Dtype::kFp16 ? 4 : 0;
  c.gradient_life = GradientLife::kWholeStep;
  // Stages 2 and 3 are Megatron-FSDP, which reduces in each micro batch.
  c.gradients_sharded_between_microbatches = c.reduce_each_microbatch = true;
  LossBytes(training, c);
  c.dummy_weight_gradients = !local;
  c.vocab_multiple = 128;
  c.vocab_parallel = true;
  c.selective_modules = 1u << static_cast<int>(Module::kCoreAttention);
  c.allocator_slack = training.expandable_segments ? 0.02 : 0.06;
  c.context_bytes =
      1.3 * (1u << 30);  // context, cuBLAS and Transformer Engine workspaces, loaded modules

  c.fused_pointwise = true;
  c.pointwise_efficiency = 0.85;
  c.attention_skips_masked = !local;
  // Host time of one layer's forward: 3.0 ms for forward, recomputation and backward together in
  // the launch-bound A100 runs of Megatron-DeepSpeed, about a third of it with current
  // Megatron-Core.
  c.layer_floor_seconds = local ? 0.75e-3 : 0.30e-3;
  // Ranks that launch one by one meet late at every all-reduce: 0.15 ms each in the
  // Megatron-DeepSpeed runs of BLOOM and vTrain.
  c.tensor_collective_seconds = local ? 0.15e-3 : 0;
  c.tensor_backward_overlap = !local;
  c.fixed_step_seconds = 10e-3;
  c.default_overlap = {
      .grad_reduce = !local, .param_gather = !local, .tp = false, .p2p = true, .moe = false};
  c.p2p_split_over_tp = true;
  return c;
}
}  // namespace shardplan
