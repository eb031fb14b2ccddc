// SPDX-License-Identifier: Apache-2.0
// nanotron: Megatron-like 3D parallelism with fp32 gradient accumulators.
#include "planner/framework/common.h"
#include "planner/framework/conventions.h"

namespace shardplan {

Conventions NanotronConventions(const Training& training, const Model&) {
  Conventions c;
  c.kernels = kNanotron;
  c.parameter_bytes = c.compute_bytes = c.residual_bytes = IsFull(training.precision) ? 4 : 2;
  c.gradient_bytes = 4;  // accumulators, never sharded
  c.wire_gradient_bytes = 4;
  c.gather_bytes = 2;
  c.master_bytes = 4;
  c.moment_bytes = MomentBytes(training.optimizer, 4);
  c.gradient_life = GradientLife::kWholeStep;
  c.keeps_stage_outputs = true;
  c.loading = LoadingStyle::kOwnShard;
  c.logit_bytes_forward = c.logit_bytes_backward = 10;
  c.doubt = {.state = 0.01, .activations = 0.025, .buffers = 0.05};
  c.fused_pointwise = true;
  // 5.7 ms forward and backward of a layer of the same model on four tensor ranks.
  c.layer_floor_seconds = 2.2e-3;
  c.tensor_backward_overlap = false;
  c.fixed_step_seconds = 20e-3;
  // Shapes and dtypes are sent and read back before each tensor: 16 stages of a 1B model take 19 ms
  // a micro batch beyond what grows with it (huggingface.co/nanotron/old_bench).
  c.blocking_p2p = true;
  c.p2p_host_seconds = 4.5e-3;
  c.tensor_rate = 0.85;
  c.time_deviation = 0.2;
  c.default_sp = true;  // tp_mode REDUCE_SCATTER
  c.selective_modules = 1u << static_cast<int>(Module::kCoreAttention);
  return c;
}
}  // namespace shardplan
