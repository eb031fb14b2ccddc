// SPDX-License-Identifier: Apache-2.0
// Megatron-LM / Megatron-Core (also Bridge and NeMo), and the Megatron-DeepSpeed fork of BLOOM.
#include "planner/framework/common.h"
#include "planner/framework/conventions.h"

namespace shardplan {

namespace {

// What Transformer Engine quantizes once a step and keeps for the products of both passes: fp8 data
// and, before Blackwell, its transpose; MX blocks of 32 in rows and in columns, a byte of scale
// each; NV blocks of 16 in 4 bits likewise. Kept in 8 bits (fp8_param_gather) they are all there is
// of those weights.
void QuantizedWeights(const Training& training, Conventions& c) {
  const Precision precision = training.precision;
  if (precision == Precision::kFp8) c.quantized_weight_bytes = c.quantized_transpose_bytes = 1;
  if (precision == Precision::kMxfp8) c.quantized_weight_bytes = 2 * (1 + 1.0 / 32);
  if (precision == Precision::kNvfp4) c.quantized_weight_bytes = 2 * (0.5 + 1.0 / 16);
  if (training.fp8_params && precision != Precision::kNvfp4)
    c.quantized_weight_bytes -= c.parameter_bytes;
}

// Dense models with Transformer Engine in bf16 come out within 0.8 % (SimuMax's and Megatron's own
// runs). Experts add permutation buffers and imbalance; 8 and 4 bits, recipes that keep other
// copies of weights and gradients than their names say.
Doubt DoubtOf(const Training& training, const Model& model, bool local) {
  Doubt doubt{.state = 0.007, .activations = local ? 0.05 : 0.016, .buffers = 0.02};
  if (model.facts.experts > 0) doubt = {.state = 0.06, .activations = 0.15, .buffers = 0.1};
  if (IsNarrow(training.precision)) doubt = {.state = 0.3, .activations = 0.35, .buffers = 0.3};
  return doubt;
}

// What the fork of the BigScience workshop does otherwise (Megatron-DeepSpeed, 2021-22):
// DeepSpeed's ZeRO-1 optimizers own the masters and reduce through buckets.
void BigScience(const Training& training, Conventions& c) {
  // Two buckets of 5e8 16-bit elements (reduce_bucket_size, allgather_bucket_size).
  c.fixed_buffer_bytes = 2 * 5e8 * 2;
  c.doubt = {.state = 0.03, .activations = 0.08, .buffers = 0.3};
  c.least_fragmentation =
      0.15;  // PyTorch 1.11 and eager scores of many sizes, as nvidia-smi read it
  // PyTorch 1.11 with CUDA 11.3 and apex: 0.72 of an A100's peak where NVIDIA's containers sustain
  // 0.82 (tr11-176B chronicles).
  c.gemm_factor = 0.88;
  c.context_bytes = 3.0 * (1u << 30);  // with apex's and DeepSpeed's kernels, CUDA 11.3
  if (training.precision != Precision::kBf16Mixed) return;
  // BF16_Optimizer keeps fp32 gradients of all parameters, unsharded, beside the 16-bit ones.
  c.gradient_bytes = 2 + 4;
  c.wire_gradient_bytes = 4;
  c.sharded_fp32_gradient_bytes = 4;
}
}  // namespace

Conventions MegatronConventions(const Training& training, const Model& model) {
  Conventions c;
  const bool full = IsFull(training.precision);
  // Without Transformer Engine attention is unfused and the older fused kernels run.
  const bool local = training.attention == AttentionImpl::kEager;
  c.kernels = local ? kMegatronLocal : kTransformerEngine;
  c.parameter_bytes = full ? 4 : 2;
  QuantizedWeights(training, c);
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
  // _ParamAndGradBuffer makes both buffers, then copies the weights (megatron/core/distributed);
  // torch_dist checkpoints are written by another process, from host memory.
  c.loading = LoadingStyle::kOnDevice;
  c.saves_through_host = true;
  c.context_bytes =
      1.3 * (1u << 30);  // context, cuBLAS and Transformer Engine workspaces, loaded modules

  c.fused_pointwise = true;
  c.pointwise_efficiency = 0.85;
  c.attention_skips_masked = !local;
  // Host time of one layer's forward: 3.0 ms for forward, recomputation and backward together in
  // the launch-bound A100 runs of Megatron-DeepSpeed, about a third of it with current
  // Megatron-Core.
  c.layer_floor_seconds = local ? 0.85e-3 : 0.30e-3;
  c.host_seconds_per_collective = local ? 0.06e-3 : 0;
  // Routing, permutation, dispatch and a wait for the tokens' counts: a layer of Qwen3-30B takes
  // 4.7 ms forward and backward on B200 at one sequence (25.09 recipes, with partial CUDA graphs).
  c.expert_floor_seconds = 1.5e-3;
  // Ranks that launch one by one meet late at every all-reduce: 0.1 ms each in the
  // Megatron-DeepSpeed runs of BLOOM and vTrain.
  c.tensor_collective_seconds = local ? 0.10e-3 : 0;
  c.tensor_rate = local ? 0.9 : 1;
  c.tensor_backward_overlap = !local;
  c.fixed_step_seconds = 10e-3;
  c.default_overlap = {
      .grad_reduce = !local, .param_gather = !local, .tp = false, .p2p = true, .moe = false};
  c.p2p_split_over_tp = true;
  c.blas_workspaces = local ? 1 : 2;  // Transformer Engine's own
  c.doubt = DoubtOf(training, model, local);
  // ALiBi and a norm after the embedding are in no other Megatron.
  if (model.family == "bloom") BigScience(training, c);
  // One plan of experts takes up to twice as long from one release of Megatron-Bridge to another.
  c.time_deviation = model.facts.experts > 0        ? 0.2
                     : IsNarrow(training.precision) ? 0.09
                     : local                        ? 0.09
                                                    : 0.05;
  // Off in pretrain_gpt.py, on in every recipe; Megatron-DeepSpeed's kernels are older than it.
  c.default_sp = !local;
  return c;
}
}  // namespace shardplan
