// SPDX-License-Identifier: Apache-2.0
// A plan as a self-contained program over PyTorch: DDP, FSDP2, or accelerate's FSDP2.
#include <fmt/format.h>

#include "planner/export/model_config.h"
#include "planner/export/python_script.h"
#include "planner/export/target.h"
#include "planner/export/trainer.h"
#include "planner/export/yaml_text.h"
#include "planner/framework/common.h"

namespace shardplan {
namespace {

// The programs cut data, state and nothing else.
std::string WhyNot(const ExportJob& job) {
  const auto& [s, p, q] = job.plan();
  const std::pair<const char*, int> degrees[] = {
      {"tp", s.tp}, {"cp", s.cp}, {"pp", p.pp}, {"ep", s.ep}};
  for (const auto& [name, degree] : degrees)
    if (degree > 1)
      return fmt::format(
          "{} {}: this program has data parallelism alone; {} 1 works, or --to "
          "torchtitan or megatron",
          name, degree, name);
  if (q.offload == Offload::kOptimizer)
    return "offload optimizer: PyTorch offloads it with the parameters; optimizer+params works";
  return {};
}

void AddLosses(const ExportJob& job, bool wraps, std::vector<Loss>& losses) {
  const Training& t = job.training();
  const Recompute& recompute = job.plan().sharding.recompute;
  if (IsNarrow(t.precision)) losses.push_back({"products in 8 or 4 bits", "bf16"});
  if (recompute.kind == RecomputeKind::kModules)
    losses.push_back({"recompute of some modules", "whole layers, all"});
  if (recompute.kind == RecomputeKind::kSelective && !wraps)
    losses.push_back(
        {"recompute selective", "none: attention kernels recompute their scores by themselves"});
  if (job.plan().policy.offload == Offload::kActivations)
    losses.push_back({"offload of activations", "they stay on the GPU"});
  if (t.loss != LossImpl::kEager && !t.compile)
    losses.push_back({"the loss", "transformers' cross entropy over fp32 logits"});
  switch (t.optimizer) {
    case Optimizer::kAdam:
    case Optimizer::kAdamW:
    case Optimizer::kSgd:
    case Optimizer::kSgdMomentum:
    case Optimizer::kAdafactor:
      break;
    default:
      losses.push_back({"the optimizer", "torch.optim.AdamW"});
  }
}

Script LoopOf(const ExportJob& job, File program) {
  Script script;
  script.files = {ModelConfigFile(job), std::move(program)};
  script.program = {"train.py"};
  script.needs = {"torch and transformers",
                  "`TOKENS`, a .npy file of token ids, for real data; made-up ones without it"};
  return script;
}

// dp as accelerate's mesh: copies of shards where a group is smaller than all.
void AddMesh(const ExportJob& job, Settings& keys) {
  const int ranks = job.plan().placement.dp, group = job.plan().policy.zero_group;
  if (group == 0 || group >= ranks) return;
  const std::string prefix = "parallelism_config.parallelism_config_";
  keys.Set(prefix + "dp_replicate_size", ranks / group);
  keys.Set(prefix + "dp_shard_size", group);
}

void AddFsdp(const ExportJob& job, Settings& keys) {
  const Policy& q = job.plan().policy;
  keys.Set("distributed_type", "FSDP");
  keys.Set("fsdp_config.fsdp_version", 2);
  keys.Set("fsdp_config.fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
  keys.Set("fsdp_config.fsdp_reshard_after_forward", q.zero_stage == 3);
  keys.Set("fsdp_config.fsdp_offload_params", q.offload == Offload::kOptimizerAndParams);
  keys.Set("fsdp_config.fsdp_cpu_ram_efficient_loading", false);
  keys.Set("fsdp_config.fsdp_state_dict_type", "SHARDED_STATE_DICT");
  const RecomputeKind kind = job.plan().sharding.recompute.kind;
  keys.Set("fsdp_config.fsdp_activation_checkpointing",
           kind == RecomputeKind::kFull || kind == RecomputeKind::kModules);
  AddMesh(job, keys);
}

const char* MixedPrecision(Precision precision) {
  switch (precision) {
    case Precision::kFp16Mixed:
      return "fp16";
    case Precision::kFp32:
    case Precision::kTf32:
    case Precision::kBf16True:
    case Precision::kFp16True:
      return "no";
    default:
      return "bf16";
  }
}
}  // namespace

Result<Script> WriteDdp(const ExportJob& job, std::string_view) {
  if (const std::string why = WhyNot(job); !why.empty()) return Cannot(why);
  Script script = LoopOf(job, DdpScript(job));
  AddLosses(job, false, script.losses);
  return script;
}

Result<Script> WriteFsdp(const ExportJob& job, std::string_view) {
  if (const std::string why = WhyNot(job); !why.empty()) return Cannot(why);
  if (job.plan().policy.zero_stage == 0)
    return Cannot("zero_stage 0: FSDP that shards nothing is DDP; use --to ddp");
  if (job.training().precision == Precision::kFp16Mixed)
    return Cannot("fp16-mixed: FSDP2 scales no losses; bf16-mixed works");
  Script script = LoopOf(job, FsdpScript(job));
  AddLosses(job, true, script.losses);
  return script;
}

Result<Script> WriteAccelerate(const ExportJob& job, std::string_view version) {
  if (const std::string why = WhyNot(job); !why.empty()) return Cannot(why);
  const Policy& q = job.plan().policy;
  if (q.zero_stage == 1) return Cannot("zero_stage 1: use --to deepspeed; 0, 2 and 3 work");
  Settings keys{.table = fmt::format("accelerate@{}", version), .list = {}};
  keys.Set("compute_environment", "LOCAL_MACHINE");
  if (q.zero_stage == 0) keys.Set("distributed_type", "MULTI_GPU");
  keys.Set("mixed_precision", MixedPrecision(job.training().precision));
  keys.Set("num_machines", job.Nodes());
  keys.Set("num_processes", job.Nodes() * job.PerNode());
  keys.Set("machine_rank", 0);
  keys.Set("rdzv_backend", "static");
  keys.Set("same_network");
  keys.Set("main_training_function", "main");
  keys.Set("use_cpu", false);
  keys.Set("debug", false);
  if (q.zero_stage >= 2) AddFsdp(job, keys);
  if (job.training().compile) keys.Set("dynamo_config.dynamo_backend", "INDUCTOR");
  Script script = LoopOf(job, AccelerateScript(job));
  AddLosses(job, false, script.losses);
  const Recompute& recompute = job.plan().sharding.recompute;
  if (q.zero_stage >= 2 && recompute.kind == RecomputeKind::kLayers)
    script.losses.push_back({"recompute of some layers", "none: accelerate has all or none"});
  script.files.insert(script.files.begin(), {"accelerate.yaml", YamlText(NestedJson(keys))});
  script.needs.front() = fmt::format("torch, transformers and accelerate {}", version);
  script.accelerate_config = "accelerate.yaml";
  script.settings = {keys};
  return script;
}
}  // namespace shardplan
