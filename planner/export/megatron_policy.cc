// SPDX-License-Identifier: Apache-2.0
// State, traffic and numbers as Megatron's flags.
#include <fmt/format.h>

#include "planner/export/megatron.h"
#include "planner/plan/axes.h"

namespace shardplan {
namespace {

void AddSharding(const ExportJob& job, Settings& flags) {
  const Policy& q = job.plan().policy;
  const int ranks = job.plan().placement.dp * job.plan().sharding.cp;
  if (q.zero_stage > 0) flags.Set("--use-distributed-optimizer");
  if (q.zero_stage >= 2) {
    flags.Set("--use-megatron-fsdp");
    flags.Set("--data-parallel-sharding-strategy",
              q.zero_stage == 2 ? "optim_grads" : "optim_grads_params");
    flags.Set("--ckpt-format", "fsdp_dtensor");
  }
  if (q.zero_stage > 0 && q.zero_group > 0 && q.zero_group < ranks)
    flags.Set("--num-distributed-optimizer-instances", ranks / q.zero_group);
}

void AddOverlap(const ExportJob& job, Settings& flags) {
  const Overlap& o = job.plan().policy.overlap;
  if (o.grad_reduce) flags.Set("--overlap-grad-reduce");
  if (o.param_gather) flags.Set("--overlap-param-gather");
  if (o.tp) flags.Set("--tp-comm-overlap");
  if (o.moe) flags.Set("--overlap-moe-expert-parallel-comm");
}

void AddOffload(const ExportJob& job, Settings& flags, std::vector<Loss>& losses) {
  const Policy& q = job.plan().policy;
  if (q.offload == Offload::kNone) return;
  if (q.offload == Offload::kActivations) {
    flags.Set("--fine-grained-activation-offloading");
    Json modules{"attn_norm", "qkv_linear", "core_attn", "attn_proj", "mlp_norm"};
    // What a recomputed MoE layer holds is gone before it could be moved (M16).
    const Recompute& recompute = job.plan().sharding.recompute;
    const bool recomputed = recompute.kind == RecomputeKind::kModules &&
                            (recompute.modules & (1u << static_cast<unsigned>(Module::kMoe))) != 0;
    if (job.shape.experts > 0 && !recomputed)
      modules.insert(modules.end(), {"expert_fc1", "moe_act"});
    flags.Set("--offload-modules", modules);
    if (job.shape.experts == 0)
      losses.push_back({"offload of the MLP's activations", "kept: only experts' can be"});
    return;
  }
  flags.Set("--optimizer-cpu-offload");
  flags.Set("--use-precision-aware-optimizer");
  flags.Set("--overlap-cpu-optimizer-d2h-h2d");
  if (q.offload == Offload::kOptimizerAndParams)
    losses.push_back({"offload of parameters", "optimizer states alone"});
  if (q.offload_to == OffloadTo::kNvme)
    losses.push_back({"offload to NVMe", "to the host's memory"});
}

// Of 8 and 4 bits.
void AddNarrow(const Training& t, Settings& flags, std::vector<Loss>& losses) {
  switch (t.precision) {
    case Precision::kFp8:
      flags.Set("--fp8-format", "hybrid");
      flags.Set("--fp8-recipe", t.fp8_recipe == Fp8Recipe::kDelayed     ? "delayed"
                                : t.fp8_recipe == Fp8Recipe::kBlockwise ? "blockwise"
                                : t.fp8_recipe == Fp8Recipe::kMx        ? "mxfp8"
                                                                        : "tensorwise");
      if (t.fp8_recipe == Fp8Recipe::kRowwise || t.fp8_recipe == Fp8Recipe::kRowwiseWithGwHp)
        losses.push_back({"fp8 recipe rowwise", "tensorwise"});
      break;
    case Precision::kMxfp8:
      flags.Set("--fp8-format", "e4m3");
      flags.Set("--fp8-recipe", "mxfp8");
      break;
    case Precision::kNvfp4:
      flags.Set("--fp4-format", "e2m1");
      flags.Set("--fp4-recipe", "nvfp4");
      break;
    default:
      return;
  }
  if (t.fp8_params && t.precision != Precision::kNvfp4) flags.Set("--fp8-param-gather");
}

void AddPrecision(const Training& t, Settings& flags, std::vector<Loss>& losses) {
  const bool half = t.precision == Precision::kFp16Mixed || t.precision == Precision::kFp16True;
  const bool full = t.precision == Precision::kFp32 || t.precision == Precision::kTf32;
  if (half) flags.Set("--fp16");
  if (!half && !full) flags.Set("--bf16");
  if (t.precision == Precision::kBf16True || t.precision == Precision::kFp16True)
    losses.push_back({"16-bit weights without fp32 copies", "fp32 main parameters"});
  AddNarrow(t, flags, losses);
  if (!half && !full && t.reduce_dtype == Dtype::kBf16) flags.Set("--grad-reduce-in-bf16");
  if (!half && !full && t.gradient_dtype != t.reduce_dtype)
    losses.push_back({"gradients kept in another dtype than they are reduced in",
                      "one dtype, that of the reduction"});
}

const char* DtypeName(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBf16:
      return "bf16";
    case Dtype::kFp16:
      return "fp16";
    case Dtype::kFp8:
      return "fp8";
    default:
      return "fp32";
  }
}

void AddOptimizer(const ExportJob& job, Settings& flags, std::vector<Loss>& losses) {
  const Training& t = job.training();
  switch (t.optimizer) {
    case Optimizer::kAdam:
    case Optimizer::kAdamW:
      flags.Set("--optimizer", "adam");  // decouples its weight decay
      break;
    case Optimizer::kSgd:
    case Optimizer::kSgdMomentum:
      flags.Set("--optimizer", "sgd");
      flags.Set("--sgd-momentum", t.optimizer == Optimizer::kSgd ? 0.0 : 0.9);
      break;
    case Optimizer::kMuon:
      flags.Set("--optimizer", job.plan().policy.zero_stage > 0 ? "dist_muon" : "muon");
      break;
    case Optimizer::kLion:
      flags.Set("--optimizer", "lion");
      break;
    default:
      flags.Set("--optimizer", "adam");
      losses.push_back({"the optimizer", "adam"});
  }
  // State in other types than fp32 is the precision-aware optimizer's.
  const bool adam = t.optimizer == Optimizer::kAdam || t.optimizer == Optimizer::kAdamW;
  const bool full = t.precision == Precision::kFp32 || t.precision == Precision::kTf32;
  if (t.optimizer_state_dtype == Dtype::kFp32 || full) return;
  if (!adam || job.plan().policy.zero_stage == 0) {
    losses.push_back({fmt::format("optimizer states in {}", DtypeName(t.optimizer_state_dtype)),
                      "fp32: others need adam and zero_stage 1"});
    return;
  }
  if (job.plan().policy.offload != Offload::kOptimizer)
    flags.Set("--use-precision-aware-optimizer");
  flags.Set("--exp-avg-dtype", DtypeName(t.optimizer_state_dtype));
  flags.Set("--exp-avg-sq-dtype", DtypeName(t.optimizer_state_dtype));
}

void AddKernels(const Training& t, Settings& flags, std::vector<Loss>& losses) {
  if (t.attention == AttentionImpl::kEager) {
    // Scores are kept where neither Transformer Engine nor flash attention runs.
    flags.Set("--transformer-impl", "local");
    flags.Set("--attention-backend", "local");
  } else {
    flags.Set("--transformer-impl", "transformer_engine");
    flags.Set("--attention-backend", t.attention == AttentionImpl::kFlash ? "flash" : "fused");
  }
  if (t.loss == LossImpl::kNative || t.loss == LossImpl::kTe) {
    flags.Set("--cross-entropy-loss-fusion");
    flags.Set("--cross-entropy-fusion-impl", t.loss == LossImpl::kTe ? "te" : "native");
  } else if (t.loss != LossImpl::kVocabParallel) {
    losses.push_back({"the loss", "Megatron's vocabulary-parallel cross entropy"});
  }
  if (t.cuda_graphs) flags.Set("--cuda-graph-impl", "local");
  if (t.compile) losses.push_back({"compile", "Transformer Engine's own fusions"});
}
}  // namespace

void AddMegatronPolicy(const ExportJob& job, Settings& flags, std::vector<Loss>& losses) {
  AddSharding(job, flags);
  AddOverlap(job, flags);
  AddOffload(job, flags, losses);
  AddPrecision(job.training(), flags, losses);
  AddKernels(job.training(), flags, losses);
  AddOptimizer(job, flags, losses);
}
}  // namespace shardplan
