// SPDX-License-Identifier: Apache-2.0
// DeepSpeed's ZeRO engine around a transformers model.
#include "planner/framework/common.h"
#include "planner/framework/conventions.h"

namespace shardplan {

Conventions DeepspeedConventions(const Training& training, const Model&) {
  Conventions c;
  TorchStates(training, c);
  c.kernels = training.compile ? kCompiled : kEager;
  if (!IsFull(training.precision)) {
    c.parameter_bytes = 2;
    c.gradient_bytes = 2;
    c.wire_gradient_bytes = 2;
    c.gather_bytes = 2;
    c.master_bytes = 4;
    c.moment_bytes = MomentBytes(training.optimizer, 4);
    c.sharded_fp32_gradient_bytes = 4;  // stage 1/2/3 make the fp32 gradient of their own partition
  }
  c.optimizer_temporary_bytes = 0;  // FusedAdam
  LossBytes(training, c);
  c.vocab_parallel = training.vocab_parallel;
  c.gradients_sharded_between_microbatches = true;
  c.reduce_each_microbatch = true;
  // Contiguous gradients: one bucket, two under overlap_comm.
  c.fixed_buffer_bytes = 2 * training.reduce_bucket_size * (training.overlap_comm ? 2 : 1);
  c.max_live_parameters = training.max_live_parameters;
  // Buckets, live parameters and precision are settings that few runs print.
  c.time_deviation = 0.2;
  c.doubt = {.state = 0.25, .activations = 0.3, .buffers = 0.5};
  c.default_overlap = {
      .grad_reduce = true, .param_gather = true, .tp = false, .p2p = false, .moe = false};
  return c;
}
}  // namespace shardplan
