// SPDX-License-Identifier: Apache-2.0
#include "planner/export/torchtitan.h"

#include <fmt/format.h>

#include <numeric>

#include "planner/export/target.h"
#include "planner/framework/common.h"
#include "planner/framework/stages.h"
#include "planner/plan/axes.h"

namespace shardplan {
namespace {

void AddTraining(const ExportJob& job, Settings& keys) {
  const Training& t = job.training();
  const auto& [s, p, q] = job.plan();
  keys.Set("training.seq_len", t.seq_length);
  // Under a pipeline the local batch is that of the step and is cut into micro batches; else it is
  // the micro batch, and gradients are accumulated over the rest of the global one.
  const int local = p.pp > 1 ? s.micro_batch_size * p.microbatches : s.micro_batch_size;
  keys.Set("training.local_batch_size", local);
  keys.Set("training.global_batch_size", t.global_batch_size);
  keys.Set("training.steps", job.Steps());
  keys.Set("training.max_norm", 1.0);
  if (q.offload == Offload::kOptimizerAndParams) keys.Set("training.enable_cpu_offload");
  if (t.precision == Precision::kBf16True) keys.Set("training.dtype", "bfloat16");
  keys.Set("training.mixed_precision_param", IsFull(t.precision) ? "float32" : "bfloat16");
  keys.Set("training.mixed_precision_reduce", "float32");
}

void AddDataParallelism(const ExportJob& job, Settings& keys, std::vector<Loss>& losses) {
  const auto& [s, p, q] = job.plan();
  // A shard group counts the context ranks, a degree does not.
  const int group = q.zero_group > 0 ? std::max(1, q.zero_group / s.cp) : p.dp;
  const int shard = q.zero_stage == 0 ? 1 : std::min(group, p.dp);
  keys.Set("parallelism.data_parallel_replicate_degree", p.dp / shard);
  keys.Set("parallelism.data_parallel_shard_degree", shard);
  if (q.zero_group > 0 && shard * s.cp != q.zero_group && q.zero_stage > 0)
    losses.push_back({fmt::format("zero_group {}", q.zero_group),
                      fmt::format("{}: shards go over all context ranks", shard * s.cp)});
  if (q.zero_stage == 0 && s.cp > 1)
    losses.push_back({"zero_stage 0 over cp", "FSDP: torchtitan shards over context ranks"});
  keys.Set("parallelism.fsdp_reshard_after_forward", q.zero_stage == 2 ? "never" : "default");
}

void AddPipeline(const ExportJob& job, Settings& keys, std::vector<Loss>& losses,
                 const std::string& head) {
  const auto& [s, p, q] = job.plan();
  keys.Set("parallelism.pipeline_parallel_degree", p.pp);
  if (p.pp == 1) return;
  const auto schedule = [&]() -> const char* {
    switch (p.schedule) {
      case Schedule::kGpipe:
        return "GPipe";
      case Schedule::kInterleaved:
        return "Interleaved1F1B";
      case Schedule::kZbV:
        return "ZBVZeroBubble";
      case Schedule::kDualPipe:
        return "DualPipeV";
      case Schedule::kZbH1:
        losses.push_back({"schedule zb-h1", "1F1B"});
        return "1F1B";
      case Schedule::k1F1B:
        return "1F1B";
    }
    return "1F1B";
  };
  keys.Set("parallelism.pipeline_parallel_schedule", schedule());
  keys.Set("parallelism.pipeline_parallel_microbatch_size", s.micro_batch_size);
  keys.Set("parallelism.module_fqns_per_model_part", StageModules(job, head));
}

void AddCheckpointing(const ExportJob& job, Settings& keys, std::vector<Loss>& losses) {
  const Recompute& recompute = job.plan().sharding.recompute;
  const auto selective = [&](const std::string& option) {
    keys.Set("activation_checkpoint.mode", "selective");
    keys.Set("activation_checkpoint.selective_ac_option", option);
  };
  switch (recompute.kind) {
    case RecomputeKind::kNone:
      keys.Set("activation_checkpoint.mode", "none");
      return;
    case RecomputeKind::kFull:
      keys.Set("activation_checkpoint.mode", "full");
      return;
    case RecomputeKind::kSelective:
      selective("op");
      return;
    case RecomputeKind::kModules:
      losses.push_back(
          {fmt::format("recompute of {}", Text(recompute)), "per-op selective checkpointing"});
      selective("op");
      return;
    case RecomputeKind::kLayers:
      break;
  }
  const int asked = std::accumulate(recompute.layers.begin(), recompute.layers.end(), 0);
  if (asked == 0) {
    keys.Set("activation_checkpoint.mode", "none");
    return;
  }
  const int every = std::max(1, job.shape.layers / asked), done = job.shape.layers / every;
  selective(std::to_string(every));
  if (done != asked)
    losses.push_back({fmt::format("recompute of {} layers", asked),
                      fmt::format("every {}: {} layers", every, done)});
}

void AddNarrow(const Training& t, Settings& keys, std::vector<Loss>& losses) {
  if (t.precision == Precision::kFp8) {
    keys.Set("model.converters", Json::array({"quantize.linear.float8"}));
    if (t.fp8_recipe == Fp8Recipe::kRowwise || t.fp8_recipe == Fp8Recipe::kRowwiseWithGwHp)
      keys.Set("quantize.linear.float8.recipe_name",
               t.fp8_recipe == Fp8Recipe::kRowwise ? "rowwise" : "rowwise_with_gw_hp");
    else
      keys.Set("quantize.linear.float8.enable_fsdp_float8_all_gather", t.fp8_all_gather);
  } else if (t.precision == Precision::kMxfp8) {
    keys.Set("model.converters", Json::array({"quantize.linear.mx"}));
    keys.Set("quantize.linear.mx.recipe_name", "mxfp8_cublas");
  } else if (t.precision == Precision::kNvfp4) {
    losses.push_back({"nvfp4", "bf16"});
  }
}

void AddOptimizer(const Training& t, Settings& keys, std::vector<Loss>& losses) {
  const bool adam = t.optimizer == Optimizer::kAdam;
  if (!adam && t.optimizer != Optimizer::kAdamW) losses.push_back({"the optimizer", "AdamW"});
  keys.Set("optimizer.name", adam ? "Adam" : "AdamW");
  keys.Set("optimizer.lr", 3e-4);
  keys.Set("optimizer.implementation", t.optimizer_impl == OptimizerImpl::kForLoop   ? "for-loop"
                                       : t.optimizer_impl == OptimizerImpl::kForeach ? "foreach"
                                                                                     : "fused");
  if (t.optimizer_in_backward) keys.Set("optimizer.early_step_in_backward");
}

void AddCompilation(const ExportJob& job, Settings& keys, std::vector<Loss>& losses) {
  const Training& t = job.training();
  keys.Set("compile.enable", t.compile);
  if (t.compile)
    keys.Set("compile.components", t.loss == LossImpl::kCompiled ? Json::array({"model", "loss"})
                                                                 : Json::array({"model"}));
  if (t.loss != LossImpl::kEager && t.loss != LossImpl::kCompiled)
    losses.push_back({"the loss", "torchtitan's cross entropy"});
}
}  // namespace

// TOML went with 0.2.
Result<Script> WriteTorchtitan(const ExportJob& job, std::string_view version) {
  return version == "0.2" ? WriteTorchtitanToml(job, version) : WriteTorchtitanPython(job, version);
}

std::string WhyNotTorchtitan(const ExportJob& job) {
  const Training& t = job.training();
  if (t.precision == Precision::kFp16Mixed || t.precision == Precision::kFp16True)
    return "fp16: torchtitan trains in bf16 or fp32; bf16-mixed works";
  if (job.plan().policy.offload == Offload::kOptimizer)
    return "offload optimizer: torchtitan offloads it with the parameters; optimizer+params works";
  return {};
}

Json StageModules(const ExportJob& job, const std::string& head) {
  const std::vector<int> chunks =
      ChunkLayers(FrameworkOf(job.training().framework), job.model(), job.plan().placement);
  Json stages = Json::array();
  int layer = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    Json modules = Json::array();
    if (i == 0) modules.push_back("tok_embeddings");
    for (int end = layer + chunks[i]; layer < end; ++layer)
      modules.push_back(fmt::format("layers.{}", layer));
    if (i + 1 == chunks.size()) {
      modules.push_back("norm");
      modules.push_back(head);
    }
    stages.push_back(modules);
  }
  return stages;
}

void AddTorchtitan(const ExportJob& job, bool since_python, Settings& keys,
                   std::vector<Loss>& losses) {
  const auto& [s, p, q] = job.plan();
  AddTraining(job, keys);
  AddDataParallelism(job, keys, losses);
  keys.Set("parallelism.tensor_parallel_degree", s.tp);
  AddPipeline(job, keys, losses, since_python ? "lm_head" : "output");
  keys.Set("parallelism.context_parallel_degree", s.cp);
  if (s.cp > 1 && !since_python)
    keys.Set("parallelism.context_parallel_rotate_method",
             s.cp_kind == CpKind::kAllGather ? "allgather" : "alltoall");
  if (job.shape.experts > 0) keys.Set("parallelism.expert_parallel_degree", s.ep);
  if (job.shape.experts > 0 && !since_python)
    keys.Set("parallelism.expert_tensor_parallel_degree", s.etp);
  if (since_python) {
    keys.Set("parallelism.enable_sequence_parallel", s.sp || s.tp == 1);
  } else {
    keys.Set("parallelism.enable_async_tensor_parallel", q.overlap.tp);
    if (s.tp > 1 && !s.sp)
      losses.push_back({"tp without sequence parallelism", "with it: torchtitan has no other"});
  }
  AddCheckpointing(job, keys, losses);
  AddNarrow(job.training(), keys, losses);
  AddOptimizer(job.training(), keys, losses);
  AddCompilation(job, keys, losses);
  if (q.offload == Offload::kActivations)
    losses.push_back({"offload of activations", "they stay on the GPU"});
}
}  // namespace shardplan
