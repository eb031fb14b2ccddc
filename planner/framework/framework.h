// SPDX-License-Identifier: Apache-2.0
// What a training framework does with a plan, as values that the cost model reads.
//
// One file per framework fills Conventions from the Training (framework/megatron.cc, ...); the cost
// model reads only these values and never asks which framework it is. Start-up rules, which say
// what a framework refuses, are in framework/rules.h.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/framework/training.h"
#include "planner/model/graph.h"
#include "planner/plan/plan.h"

namespace shardplan {

// When gradients come to life.
enum class GradientLife : std::uint8_t {
  kWholeStep,     // a buffer that exists from start to end (Megatron, DDP buckets, nanotron)
  kFromBackward,  // born in the first backward pass, freed by the optimizer (PyTorch eager)
};

// Who makes the weights at the start, and where.
enum class LoadingStyle : std::uint8_t {
  kOnDevice,   // each rank its own, on the GPU, before the buffers that they move into (Megatron)
  kOwnShard,   // each rank its own shard, nothing twice (meta device; nanotron)
  kFirstRank,  // one rank reads the model into host memory and sends it unit by unit (accelerate)
  kEveryRank,  // each rank reads the whole model into host memory (from_pretrained, plain loops)
};

// How far the walk through a framework's memory may be off: prior relative standard deviations,
// from what is left of the rows it was checked on (docs/accuracy.md) and from what a spec cannot
// tell.
struct Doubt {
  double state = 0.01;        // weights, gradients, optimizer states: which copies, in which dtype
  double activations = 0.05;  // kept tensors, workspaces, logits: which kernels
  double buffers = 0.1;       // gathered units, buckets, temporaries: settings and order
};

struct Conventions {
  std::uint16_t kernels = kTransformerEngine;  // one bit of KernelSet
  // Bytes per parameter, before sharding.
  double parameter_bytes = 2;  // what a rank holds between steps and computes with
  // Copies of the weights of 8- and 4-bit products, kept over the step beside the 16-bit ones; less
  // those where there are none.
  double quantized_weight_bytes = 0, quantized_transpose_bytes = 0;
  double autocast_copy_bytes = 0;        // 16-bit copies of weights kept by autograd during a pass
  double gradient_bytes = 2;             // of the gradients that are kept over the step
  double wire_gradient_bytes = 2;        // per element of the data-parallel reduction
  double gather_bytes = 2;               // per element of ZeRO-3's (and ZeRO-1's) parameter gather
  double bucket_copy_bytes = 0;          // a second copy of gradients (DDP buckets without a view)
  double master_bytes = 4;               // fp32 copy of the parameters, sharded with the optimizer
  double moment_bytes = 8;               // optimizer moments
  double optimizer_temporary_bytes = 0;  // per parameter during the optimizer's step (foreach)
  bool updates_one_by_one = false;       // the optimizer's temporaries are of one tensor
  double sharded_fp32_gradient_bytes = 0;  // ZeRO-1/2's fp32 gradient of the own shard in the step
  double residual_bytes = 2;               // element of the residual stream
  double compute_bytes = 2;                // element of activations
  double logit_bytes_forward = 2;          // per logit alive at the loss's forward
  double logit_bytes_backward = 2;  // per logit alive inside the loss's backward (all of them)
  double logit_kept_bytes = 0;      // per logit held until backward ends
  bool head_gradient_at_loss =
      false;  // a dummy or real weight gradient of the head lives with the loss
  GradientLife gradient_life = GradientLife::kWholeStep;
  bool gradients_sharded_between_microbatches = false;  // ZeRO-2/3: reduce-scatter each micro batch
  bool fsdp_style =
      false;  // ZeRO-2 shards parameters too but keeps them gathered; pipelines never reshard
  bool root_in_parts = false;  // under FSDP embedding and head are units of their own, not one
  bool dummy_weight_gradients = false;  // one cached buffer per distinct weight shape (TE)
  int vocab_multiple = 1;               // the vocabulary is padded to a multiple of this times tp
  bool vocab_parallel = true;
  double fixed_buffer_bytes = 0;  // buckets of fixed size (DeepSpeed's), bytes per rank, from the
                                  // first backward to the optimizer's step
  double least_fragmentation =
      0;  // reserved over allocated, less one, that the replay is known to miss
  double blas_workspaces = 1;        // PyTorch's, and as much again where a library brings its own
  bool keeps_stage_outputs = false;  // what a stage sent on stays alive until its backward
  double max_live_parameters = 0;    // DeepSpeed's stage3_max_live_parameters; 0: no limit
  LoadingStyle loading = LoadingStyle::kEveryRank;
  bool saves_through_host =
      false;  // a sharded checkpoint is copied to host memory as a whole first
  double context_bytes = 0.6 * (1u << 30);  // CUDA context, loaded modules, library workspaces

  Doubt doubt;

  // Time.
  double host_seconds_per_launch = 0;  // host time per kernel in eager code; 0: never the limit
  double tensor_collective_seconds =
      0;                   // what each tensor-parallel collective costs beyond its bytes
  double tensor_rate = 1;  // of what nccl-tests' loop reaches: ranks meet late, caches are cold
  bool tensor_backward_overlap =
      false;  // column products hide their collectives beside their two products
  double host_seconds_per_collective = 0;  // the same for each tensor-parallel collective
  double layer_floor_seconds = 0;          // least time of one layer's forward on the host
  double expert_floor_seconds = 0;         // and of its router, dispatch and experts beyond that
  double pointwise_efficiency = 0.8;       // of the GPU's streaming bandwidth
  bool fused_pointwise = true;
  double gemm_factor = 1;  // of the GPU's sustained matrix rate
  bool flash_attention_2 =
      false;  // the flash-attn package's second version, which Hopper's pipelines do not speed up
  double attention_factor = 1;
  bool attention_skips_masked = true;  // causal half is not computed
  double fixed_step_seconds = 0;       // data loading, logging, gradient norm's host sync
  Overlap default_overlap;
  bool default_sp = false;              // sequence parallelism where tp > 1
  double grad_overlap = 0.9;            // share of the gradient reduction that backward can hide
  double zero3_overlap = 0.95;          // share of gathers that compute can hide, when it is longer
  bool reduce_each_microbatch = false;  // DDP without no_sync, FSDP
  bool p2p_split_over_tp = false;       // Megatron's scatter-gather of pipeline transfers
  bool blocking_p2p = false;            // transfers wait (nanotron)
  double p2p_host_seconds = 0;          // what each transfer costs on the host
  // How far the framework's steps lie from the model, as a standard deviation of the logarithm:
  // what releases and unstated settings change. (planner/README.md, "How sure")
  double time_deviation = 0.08;
  // What `selective` means: modules recomputed, or every second matmul (per-op SAC).
  std::uint32_t selective_modules = 0;
  bool selective_per_op = false;
  bool selective_every_second_block = false;
  bool checkpoint_sequence_sharded = true;  // inputs of recomputed layers are cut by tp under SP
};

struct Framework {
  FrameworkId id;
  std::string_view name;
  std::string_view newest_version;
  std::vector<int> zero_stages;
  bool tensor, sequence, pipeline, interleaved, context, ulysses, expert;
  bool uneven_stages;  // layers need not divide evenly over stages
  bool zero_bubble, offload_optimizer, offload_params, offload_activations;
  bool hybrid_shard;  // zero_group smaller than all ranks
  int default_zero;
  bool ring;                   // context parallelism by ring or gathered keys, not only Ulysses
  bool expert_tensor;          // experts may be cut by etp
  bool experts_follow_tensor;  // etp left out means tp where ep * tp fits, else 1
  std::uint8_t schedules;      // bits of Schedule that it runs where asked
  Conventions (*conventions)(const Training&, const Model&);
  // Layers of each stage (pp * vpp entries in order of the model, chunk-major as the model runs),
  // or empty where this framework cannot split so.
  std::vector<int> (*split)(const Model&, int pp, int vpp);
  // Sets what the spec left open in `training` (dtypes, loss, optimizer_impl) to the framework's
  // own.
};

const Framework& FrameworkOf(FrameworkId id);
const std::vector<Framework>& Frameworks();
}  // namespace shardplan
