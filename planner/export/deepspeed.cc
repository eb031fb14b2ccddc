// SPDX-License-Identifier: Apache-2.0
// A plan as DeepSpeed's JSON under transformers' Trainer.
#include <fmt/format.h>

#include "planner/export/model_config.h"
#include "planner/export/python_script.h"
#include "planner/export/target.h"
#include "planner/export/trainer.h"
#include "planner/framework/common.h"

namespace shardplan {
namespace {

void AddBatch(const ExportJob& job, Settings& keys) {
  // transformers counts each rank as a data-parallel one; under tp and cp DeepSpeed must work it
  // out.
  if (job.plan().sharding.tp == 1 && job.plan().sharding.cp == 1)
    keys.Set("train_batch_size", job.training().global_batch_size);
  keys.Set("train_micro_batch_size_per_gpu", job.plan().sharding.micro_batch_size);
  keys.Set("gradient_accumulation_steps", job.plan().placement.microbatches);
  keys.Set("gradient_clipping", 1.0);
}

void AddPrecision(const Training& t, Settings& keys, std::vector<Loss>& losses) {
  const bool half = t.precision == Precision::kFp16Mixed || t.precision == Precision::kFp16True;
  if (half) keys.Set("fp16.enabled");
  if (!half && !IsFull(t.precision)) keys.Set("bf16.enabled");
  if (t.precision == Precision::kBf16True || t.precision == Precision::kFp16True)
    losses.push_back({"16-bit weights without fp32 copies", "ZeRO's fp32 partitions"});
  if (t.precision == Precision::kTf32) losses.push_back({"tf32", "what PyTorch is set to"});
  if (IsNarrow(t.precision)) losses.push_back({"products in 8 or 4 bits", "bf16"});
  if (t.gradient_dtype == Dtype::kFp32 && !IsFull(t.precision))
    keys.Set("data_types.grad_accum_dtype", "fp32");
}

void AddOffload(const Policy& q, Settings& keys, std::vector<Loss>& losses) {
  const bool params = q.offload == Offload::kOptimizerAndParams;
  const bool nvme = q.offload_to == OffloadTo::kNvme;
  if (q.offload == Offload::kActivations)
    losses.push_back({"offload of activations",
                      "checkpoints stay on the GPU: transformers has its "
                      "own checkpointing"});
  if (q.offload != Offload::kOptimizer && !params) return;
  const auto device = [&](const std::string& part) {
    keys.Set(part + ".device", nvme ? "nvme" : "cpu");
    keys.Set(part + ".pin_memory");
    if (nvme) keys.Set(part + ".nvme_path", "/local_nvme");
  };
  device("zero_optimization.offload_optimizer");
  if (params) device("zero_optimization.offload_param");
}

void AddZero(const ExportJob& job, Settings& keys, std::vector<Loss>& losses) {
  const Policy& q = job.plan().policy;
  const Training& t = job.training();
  keys.Set("zero_optimization.stage", q.zero_stage);
  if (q.zero_stage == 0) return;
  const auto whole = [](double elements) { return static_cast<std::int64_t>(elements); };
  keys.Set("zero_optimization.overlap_comm", t.overlap_comm && q.overlap.grad_reduce);
  keys.Set("zero_optimization.contiguous_gradients");
  keys.Set("zero_optimization.reduce_bucket_size", whole(t.reduce_bucket_size));
  if (q.zero_stage < 3) {
    keys.Set("zero_optimization.allgather_bucket_size", whole(t.reduce_bucket_size));
  } else {
    keys.Set("zero_optimization.stage3_max_live_parameters", whole(t.max_live_parameters));
    keys.Set("zero_optimization.stage3_gather_16bit_weights_on_model_save");
  }
  const int ranks = job.plan().placement.dp * job.plan().sharding.cp;
  if (q.zero_stage == 3 && q.zero_group > 0 && q.zero_group < ranks) {
    keys.Set("zero_optimization.zero_hpz_partition_size", q.zero_group);
    losses.push_back(
        {fmt::format("zero_group {} (MiCS)", q.zero_group),
         "hpZ: weights are gathered within such groups, all state is cut over all ranks"});
  }
  AddOffload(q, keys, losses);
}

void AddParallelism(const ExportJob& job, Settings& keys, std::vector<Loss>& losses) {
  const Sharding& s = job.plan().sharding;
  if (s.tp > 1) keys.Set("tensor_parallel.autotp_size", s.tp);
  if (s.cp > 1) keys.Set("sequence_parallel_size", s.cp);
  if (s.ep > 1) {
    keys.Set("expert_parallel.enabled");
    keys.Set("expert_parallel.autoep_size", s.ep);
  }
  if (s.sp && s.tp > 1) losses.push_back({"sp", "norms whole on each tensor rank"});
}

// FusedAdam, or DeepSpeedCPUAdam where the optimizer is offloaded.
void AddOptimizer(const Training& t, Settings& keys) {
  const bool adam = t.optimizer == Optimizer::kAdam || t.optimizer == Optimizer::kAdamW;
  if (!adam) {
    keys.Set("zero_allow_untested_optimizer");  // the Trainer's
    return;
  }
  keys.Set("optimizer.type", t.optimizer == Optimizer::kAdam ? "Adam" : "AdamW");
  keys.Set("optimizer.params.lr", kLearningRate);
  keys.Set("optimizer.params.weight_decay", kWeightDecay);
  keys.Set("optimizer.params.betas", Json::array({0.9, 0.999}));
  keys.Set("optimizer.params.eps", 1e-8);
}
}  // namespace

Result<Script> WriteDeepspeed(const ExportJob& job, std::string_view version) {
  const auto& [s, p, q] = job.plan();
  if (p.pp > 1)
    return Cannot(
        fmt::format("pp {}: DeepSpeed's pipelines are modules written by hand, and "
                    "transformers has none; pp 1 works",
                    p.pp));
  Script script;
  Settings keys{.table = fmt::format("deepspeed@{}", version), .list = {}};
  AddBatch(job, keys);
  AddPrecision(job.training(), keys, script.losses);
  AddZero(job, keys, script.losses);
  AddParallelism(job, keys, script.losses);
  AddOptimizer(job.training(), keys);
  Settings arguments{.table = kTransformers, .list = {}};
  std::vector<Loss> said;  // of precision and optimizer, which DeepSpeed's own keys decide
  AddTrainingArguments(job, arguments, said);
  for (const Loss& loss : said)
    if (loss.what != "products in 8 or 4 bits") script.losses.push_back(loss);
  arguments.Set("deepspeed", "deepspeed.json");
  script.files = {{"deepspeed.json", NestedJson(keys).dump(2) + "\n"},
                  {"training_args.json", NestedJson(arguments).dump(2) + "\n"},
                  ModelConfigFile(job),
                  TrainerScript(job)};
  script.program = {"train.py"};
  script.needs = {fmt::format("deepspeed {}, transformers and accelerate", version),
                  "`TOKENS`, a .npy file of token ids, for real data; made-up ones without it",
                  "`MODEL`, a checkpoint to go on from; fresh weights without it"};
  if (q.offload_to == OffloadTo::kNvme && q.offload != Offload::kNone)
    script.needs.emplace_back("a fast local disk at /local_nvme");
  script.settings = {keys, arguments};
  return script;
}
}  // namespace shardplan
