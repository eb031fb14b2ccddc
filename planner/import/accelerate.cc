// SPDX-License-Identifier: Apache-2.0
// accelerate's configuration (accelerate config, default_config.yaml; 1.x).
#include <algorithm>

#include "planner/import/readers.h"

namespace shardplan {
namespace {

bool MayMatter(const Setting& setting) {
  static constexpr std::string_view kIdle[] = {"compute_environment",
                                               "debug",
                                               "downcast",
                                               "machine_rank",
                                               "main_",
                                               "rdzv",
                                               "same_network",
                                               "tpu_",
                                               "use_cpu",
                                               "enable_cpu_affinity",
                                               "gpu_ids",
                                               "num_cpu_threads",
                                               "command_file",
                                               "commands",
                                               "fsdp_config.fsdp_auto_wrap",
                                               "fsdp_config.fsdp_backward_prefetch",
                                               "fsdp_config.fsdp_cpu_ram",
                                               "fsdp_config.fsdp_forward_prefetch",
                                               "fsdp_config.fsdp_state_dict",
                                               "fsdp_config.fsdp_sync",
                                               "fsdp_config.fsdp_transformer",
                                               "fsdp_config.fsdp_use_orig",
                                               "fsdp_config.fsdp_min",
                                               "fsdp_config.fsdp_version",
                                               "config_file",
                                               "multi_gpu",
                                               "use_fsdp",
                                               "use_deepspeed",
                                               "dynamo_config.dynamo_mode",
                                               "dynamo_config.dynamo_use",
                                               "mixed_precision",
                                               "deepspeed_config.gradient_clipping",
                                               "deepspeed_config.zero3",
                                               "module",
                                               "fp8_config",
                                               "max_restarts",
                                               "monitor",
                                               "parallelism_config.parallelism_config_cp_comm",
                                               "standalone"};
  const auto begins = [&](std::string_view idle) { return setting.name.starts_with(idle); };
  return std::none_of(std::begin(kIdle), std::end(kIdle), begins);
}

void ReadWorld(SettingList& s, Draft& d) {
  const auto machines = s.Size("num_machines", "cluster.nodes");
  const auto processes = s.Size("num_processes", "cluster.gpus_per_node");
  const int nodes = machines.value_or(1);
  if (processes && !d.spec().cluster().has_gpus_per_node()) {
    d.cluster().set_nodes(nodes);
    d.cluster().set_gpus_per_node(std::max(1, *processes / nodes));
    if (*processes % nodes != 0)
      d.Fail(s.Take("num_processes")->spot, "num_processes",
             std::to_string(*processes) + " processes do not divide over " + std::to_string(nodes) +
                 " machines",
             "it is the number over all machines");
  }
}

void ReadFsdp(SettingList& s, Draft& d) {
  v1::Plan& plan = d.plan();
  d.train().set_framework(v1::FRAMEWORK_FSDP);
  const std::string f = "fsdp_config.fsdp_";
  const std::string strategy = s.OneOf(f + "sharding_strategy",
                                       {"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD",
                                        "HYBRID_SHARD_ZERO2", "1", "2", "3", "4", "5"},
                                       "plan.zero_stage")
                                   .value_or("FULL_SHARD");
  const bool keeps = strategy == "SHARD_GRAD_OP" || strategy == "2" ||
                     strategy == "HYBRID_SHARD_ZERO2" || strategy == "5";
  int stage = strategy == "NO_SHARD" || strategy == "3" ? 0 : keeps ? 2 : 3;
  const auto reshard = s.Word(f + "reshard_after_forward", "plan.zero_stage").value_or("true");
  if (Lower(reshard) == "false" || reshard == "SHARD_GRAD_OP") stage = 2;
  Fix(plan.mutable_zero_stage(), stage);
  const bool hybrid = strategy.rfind("HYBRID", 0) == 0 || strategy == "4" || strategy == "5";
  if (hybrid && d.spec().cluster().has_gpus_per_node())
    Fix(plan.mutable_zero_group(), d.spec().cluster().gpus_per_node());
  if (s.On(f + "offload_params", "plan.offload"))
    Fix(plan.mutable_offload(), v1::OFFLOAD_OPTIMIZER_AND_PARAMS);
  if (s.On(f + "activation_checkpointing", "plan.recompute"))
    plan.add_recompute()->set_kind(v1::RECOMPUTE_KIND_FULL);
}

void ReadDegrees(SettingList& s, Draft& d) {
  const std::string p = "parallelism_config.parallelism_config_";
  v1::Plan& plan = d.plan();
  Fix(plan.mutable_tp(), s.Size(p + "tp_size", "plan.tp").value_or(1));
  const int cp = s.Size(p + "cp_size", "plan.cp").value_or(1);
  const int sp = s.Size(p + "sp_size", "plan.cp").value_or(1);
  Fix(plan.mutable_cp(), std::max(cp, sp));
  if (cp > 1 || sp > 1)
    Fix(plan.mutable_cp_kind(), sp > 1 ? v1::CP_KIND_ULYSSES : v1::CP_KIND_RING);
  s.Skip(p + "sp_backend");
  const int replicas = s.Size(p + "dp_replicate_size").value_or(1);
  const auto shard = s.Size(p + "dp_shard_size");
  if (shard && *shard == 1 && replicas > 1) Fix(plan.mutable_zero_stage(), 0);
  if (shard && *shard > 1 && replicas > 1) {
    Fix(plan.mutable_zero_group(), *shard * std::max(cp, sp));
    d.From("plan.zero_group", *s.Take(p + "dp_shard_size"));
  }
}
}  // namespace

void ReadAccelerate(SettingList& s, Draft& d) {
  v1::Train& train = d.train();
  ReadWorld(s, d);
  const std::string type = Lower(s.Word("distributed_type", "train.framework").value_or(""));
  if (!train.has_precision()) {
    const std::string precision =
        s.OneOf("mixed_precision", {"no", "fp16", "bf16", "fp8"}, "train.precision").value_or("no");
    train.set_precision(precision == "fp16"   ? v1::PRECISION_FP16_MIXED
                        : precision == "bf16" ? v1::PRECISION_BF16_MIXED
                        : precision == "fp8"  ? v1::PRECISION_FP8
                                              : v1::PRECISION_FP32);
  }
  ReadDegrees(s, d);
  const bool fsdp = type == "fsdp" || s.On("use_fsdp");
  if (fsdp) ReadFsdp(s, d);
  const bool deepspeed = type == "deepspeed" || s.On("use_deepspeed");
  if (!fsdp && !deepspeed) train.set_framework(v1::FRAMEWORK_HF);
  if (const auto backend = s.Word("dynamo_config.dynamo_backend", "train.compile"))
    if (Lower(*backend) != "no") train.set_compile(true);
  s.LeaveRest(MayMatter);
}
}  // namespace shardplan
