// SPDX-License-Identifier: Apache-2.0
// PyTorch FSDP1 and FSDP2 (also Composer, fms-fsdp, NeMo AutoModel, torchtune).
#include "planner/framework/common.h"
#include "planner/framework/conventions.h"

namespace shardplan {

Conventions FsdpConventions(const Training& training, const Model& model) {
  Conventions c;
  TorchStates(training, c);
  // Mixed precision is FSDP's own: fp32 shards, 16-bit gathered weights and inputs, no autocast.
  c.kernels = training.compile ? kCompiled : kEager;
  c.fused_pointwise = training.compile;
  // Experts under FSDP are NeMo AutoModel's, which puts Transformer Engine's kernels in.
  if (model.facts.experts > 0) {
    c.fused_pointwise = true;
    c.flash_attention_2 = false;
    c.gemm_factor = 1;
    c.time_deviation = 0.15;
  }
  c.wire_gradient_bytes = BytesOf(training.reduce_dtype);
  LossBytes(training, c);
  c.vocab_parallel = training.vocab_parallel;
  c.fsdp_style = true;
  // accelerate's fsdp_cpu_ram_efficient_loading, which is its default.
  c.loading = LoadingStyle::kFirstRank;
  // What loops over FSDP call selective: a share of the blocks in full (fms-fsdp, torchtune).
  c.selective_every_second_block = true;
  c.gradients_sharded_between_microbatches = true;
  c.reduce_each_microbatch = true;
  // Loops over FSDP differ in what they hold of logits, key/value heads and the optimizer's copies.
  c.doubt = {.state = 0.003, .activations = training.compile ? 0.06 : 0.03, .buffers = 0.05};
  c.default_overlap = {
      .grad_reduce = true, .param_gather = true, .tp = false, .p2p = false, .moe = false};
  return c;
}
}  // namespace shardplan
