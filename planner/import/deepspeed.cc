// SPDX-License-Identifier: Apache-2.0
// DeepSpeed's JSON (deepspeed/runtime/config.py, zero/config.py, 0.19).
#include <fmt/format.h>

#include <algorithm>

#include "planner/import/names.h"
#include "planner/import/readers.h"

namespace shardplan {
namespace {

// Sections and keys that decide neither memory nor time of a step.
bool MayMatter(const Setting& setting) {
  static constexpr std::string_view kIdle[] = {
      "optimizer.params",
      "scheduler",
      "fp16.",
      "bf16.",
      "gradient_clipping",
      "steps_per_print",
      "wall_clock_breakdown",
      "dump_state",
      "comms_logger",
      "comms_config",
      "flops_profiler",
      "monitor_config",
      "tensorboard",
      "wandb",
      "csv_monitor",
      "memory_breakdown",
      "prescale_gradients",
      "gradient_predivide_factor",
      "sparse_gradients",
      "checkpoint",
      "data_efficiency",
      "aio",
      "zero_allow_untested_optimizer",
      "zero_force_ds_cpu_optimizer",
      "elasticity",
      "autotuning",
      "zero_optimization.contiguous_gradients",
      "zero_optimization.allgather",
      "zero_optimization.reduce_scatter",
      "zero_optimization.round_robin_gradients",
      "zero_optimization.stage3_prefetch_bucket_size",
      "zero_optimization.sub_group_size",
      "zero_optimization.stage3_param_persistence_threshold",
      "zero_optimization.cpu_offload_",
      "zero_optimization.stage3_model_persistence_threshold",
      "zero_optimization.stage3_max_reuse_distance",
      "zero_optimization.stage3_gather",
      "zero_optimization.gather_16bit",
      "zero_optimization.ignore_unused",
      "zero_optimization.memory_efficient_linear",
      "zero_optimization.offload_optimizer.",
      "zero_optimization.offload_param.",
      "zero_optimization.elastic_checkpoint",
      "zero_optimization.load_from_fp32",
      "zero_optimization.legacy_stage1",
      "activation_checkpointing.number",
      "activation_checkpointing.contiguous",
      "activation_checkpointing.synchronize",
      "activation_checkpointing.profile",
      "amp.",
      "communication_data_type",
      "seq_parallel_comm",
      "disable_allgather",
      "curriculum",
      "dataloader_drop_last",
      "use_node_local",
      "load_universal",
      "nebula",
      "hybrid_engine",
      "compression_training",
      "pipeline.",
      "timers",
      "fp32_allreduce",
      "data_types",
      "tensor_parallel.tensor_parallel",
      "zero_quantized_nontrainable",
      "seed"};
  const auto begins = [&](std::string_view idle) { return setting.name.starts_with(idle); };
  return std::none_of(std::begin(kIdle), std::end(kIdle), begins);
}

// "auto": the Trainer puts its own value there.
bool IsAuto(const SettingList& s, std::string_view name) {
  return std::any_of(s.all().begin(), s.all().end(), [&](const Setting& setting) {
    return setting.name == name && setting.values == std::vector<std::string>{"auto"};
  });
}
std::optional<int> SizeUnlessAuto(SettingList& s, const char* name, const std::string& key) {
  if (!IsAuto(s, name)) return s.Size(name, key);
  s.Skip(name);
  return std::nullopt;
}

void ReadPrecision(SettingList& s, Draft& d) {
  v1::Train& train = d.train();
  const auto on = [&](const char* section) {
    const std::string name = std::string(section) + ".enabled";
    if (IsAuto(s, name)) {
      s.Skip(name);
      return false;
    }
    return s.On(name, "train.precision");
  };
  const bool bf16 = on("bf16") || on("bfloat16"), fp16 = on("fp16");
  // Loaded in either width, the engine keeps fp32 masters.
  if (bf16 || train.precision() == v1::PRECISION_BF16_TRUE)
    train.set_precision(v1::PRECISION_BF16_MIXED);
  else if (fp16 || train.precision() == v1::PRECISION_FP16_TRUE)
    train.set_precision(v1::PRECISION_FP16_MIXED);
  else if (!train.has_precision())
    train.set_precision(v1::PRECISION_FP32);
  const auto dtype = s.Word("data_types.grad_accum_dtype", "train.gradient_dtype");
  if (dtype && *dtype == "fp32") train.set_gradient_dtype(v1::DTYPE_FP32);
  if (dtype && *dtype == "bf16") train.set_gradient_dtype(v1::DTYPE_BF16);
}

void ReadOffload(SettingList& s, Draft& d) {
  const std::vector<std::string> devices = {"none", "cpu", "nvme"};
  const std::string z = "zero_optimization.";
  // Of accelerate's short section.
  const auto device = [&](const std::string& what) {
    return s.OneOf(z + "offload_" + what + ".device", devices, "plan.offload")
        .value_or(s.OneOf("offload_" + what + "_device", devices, "plan.offload").value_or("none"));
  };
  const std::string params = device("param");
  std::string state = device("optimizer");
  if (state == "none" && s.On(z + "cpu_offload", "plan.offload")) state = "cpu";
  const auto ratio = s.Number(z + "offload_optimizer.ratio");
  if (ratio && *ratio < 1 && state != "none")
    s.Leave(z + "offload_optimizer.ratio", "all of the optimizer's state is taken as offloaded");
  if (params != "none" && state == "none")
    d.Warn(
        "offload_param without offload_optimizer: the optimizer's state is counted as offloaded "
        "too");
  const v1::Offload offload = params != "none"  ? v1::OFFLOAD_OPTIMIZER_AND_PARAMS
                              : state != "none" ? v1::OFFLOAD_OPTIMIZER
                                                : v1::OFFLOAD_NONE;
  Fix(d.plan().mutable_offload(), offload);
  if (offload != v1::OFFLOAD_NONE)
    Fix(d.plan().mutable_offload_to(),
        params == "nvme" || state == "nvme" ? v1::OFFLOAD_TO_NVME : v1::OFFLOAD_TO_CPU);
}

void ReadZero(SettingList& s, Draft& d) {
  const std::string z = "zero_optimization.";
  std::int64_t stage = s.Whole(z + "stage", 0, "plan.zero_stage")
                           .value_or(s.Whole("zero_stage", 0, "plan.zero_stage").value_or(0));
  if (stage > 3)
    d.Fail(s.Take(z + "stage") ? s.Take(z + "stage")->spot : Spot{}, z + "stage",
           fmt::format("{} is no stage", stage), "expected 0, 1, 2 or 3");
  stage = std::clamp<std::int64_t>(stage, 0, 3);
  Fix(d.plan().mutable_zero_stage(), static_cast<int>(stage));
  ReadOffload(s, d);
  v1::Deepspeed& own = *d.train().mutable_deepspeed();
  const auto number = [&](const char* name, const char* key) -> std::optional<double> {
    if (!IsAuto(s, z + name)) return s.Number(z + name, key);
    s.Skip(z + name);
    return std::nullopt;
  };
  if (const auto size = number("reduce_bucket_size", "train.deepspeed.reduce_bucket_size"))
    own.set_reduce_bucket_size(*size);
  else if (IsAuto(s, z + "reduce_bucket_size"))
    if (const auto hidden = HiddenSizeOf(d))  // transformers/integrations/deepspeed.py
      own.set_reduce_bucket_size(static_cast<double>(*hidden) * *hidden);
  if (const auto live =
          number("stage3_max_live_parameters", "train.deepspeed.stage3_max_live_parameters"))
    own.set_stage3_max_live_parameters(*live);
  // Left out, it is on in stage 3 alone.
  const bool overlap =
      s.Flag(z + "overlap_comm", "train.deepspeed.overlap_comm").value_or(stage == 3);
  own.set_overlap_comm(overlap);
  if (const auto size = s.Whole(z + "mics_shard_size", -1); size && *size > 0 && stage == 3) {
    Fix(d.plan().mutable_zero_group(), static_cast<int>(std::min<std::int64_t>(*size, 1'000'000)));
    d.From("plan.zero_group", *s.Take(z + "mics_shard_size"));
  }
  if (const auto size = s.Whole(z + "zero_hpz_partition_size", 1); size && *size > 1)
    s.Leave(z + "zero_hpz_partition_size",
            "the second copy of the parameters in a node is not counted");
  for (const char* quantized : {"zero_quantized_weights", "zero_quantized_gradients"})
    s.Leave(z + quantized, "traffic is counted in 16 bits");
}

void ReadBatch(SettingList& s, Draft& d) {
  const auto whole = SizeUnlessAuto(s, "train_batch_size", "train.global_batch_size");
  const auto micro = SizeUnlessAuto(s, "train_micro_batch_size_per_gpu", "plan.micro_batch_size");
  const Setting* steps = s.Take("gradient_accumulation_steps");
  const auto accumulation = SizeUnlessAuto(s, "gradient_accumulation_steps", "");
  if (micro) Fix(d.plan().mutable_micro_batch_size(), *micro);
  const int ranks = d.Gpus() / std::max(1, d.plan().tp(0) * d.plan().cp(0));
  const int own = d.plan().micro_batch_size_size() > 0 ? d.plan().micro_batch_size(0) : 0;
  if (whole) {
    d.train().set_global_batch_size(*whole);
    if (own == 0 && accumulation && ranks > 0 && *whole % (*accumulation * ranks) == 0)
      Fix(d.plan().mutable_micro_batch_size(), std::max(1, *whole / (*accumulation * ranks)));
    const double product = static_cast<double>(own) * accumulation.value_or(1) * ranks;
    if (own > 0 && accumulation && ranks > 0 && product != *whole)
      s.Leave("train_batch_size",
              fmt::format("D1: DeepSpeed refuses it, for it is not {} (micro batch) x {} "
                          "(accumulation) x {} (ranks)",
                          own, *accumulation, ranks));
  } else if (!d.train().has_global_batch_size() || micro || accumulation) {
    SetBatchByAccumulation(accumulation.value_or(1), accumulation ? steps : nullptr, d);
  }
  if (d.plan().micro_batch_size_size() == 0)
    d.Need("plan.micro_batch_size",
           "give --set plan.micro_batch_size=N (train_micro_batch_size_per_gpu)");
}

void ReadOptimizer(SettingList& s, Draft& d) {
  const auto type = s.Word("optimizer.type", "train.optimizer");
  if (!type) return;
  const std::string name = Lower(*type);
  if (name == "adamw" || name == "adam" || name == "lamb" || name == "lion" || name == "sgd" ||
      name == "muon")
    d.train().set_optimizer(name == "lamb"   ? v1::OPTIMIZER_LAMB
                            : name == "lion" ? v1::OPTIMIZER_LION
                            : name == "sgd"  ? v1::OPTIMIZER_SGD_MOMENTUM
                            : name == "muon" ? v1::OPTIMIZER_MUON
                            : name == "adam" ? v1::OPTIMIZER_ADAM
                                             : v1::OPTIMIZER_ADAMW);
  else
    s.Leave("optimizer.type", "AdamW is counted");
}
}  // namespace

void ReadDeepspeed(SettingList& s, Draft& d) {
  d.train().set_framework(v1::FRAMEWORK_DEEPSPEED);
  d.train().clear_optimizer_impl();
  if (const auto tp = s.Size("tensor_parallel.autotp_size", "plan.tp"))
    Fix(d.plan().mutable_tp(), *tp);
  if (const auto sp = s.Size("sequence_parallel_size", "plan.cp"); sp && *sp > 1) {
    Fix(d.plan().mutable_cp(), *sp);
    Fix(d.plan().mutable_cp_kind(), v1::CP_KIND_ULYSSES);
  }
  if (d.plan().tp_size() == 0) Fix(d.plan().mutable_tp(), 1);
  if (d.plan().cp_size() == 0) Fix(d.plan().mutable_cp(), 1);
  if (d.plan().pp_size() == 0) Fix(d.plan().mutable_pp(), 1);
  ReadPrecision(s, d);
  ReadZero(s, d);
  ReadBatch(s, d);
  ReadOptimizer(s, d);
  s.Leave("activation_checkpointing.partition_activations",
          "whole checkpoints are counted on each rank");
  s.Leave("activation_checkpointing.cpu_checkpointing", "checkpoints are counted on the GPU");
  for (const char* key :
       {"zero3_init_flag", "zero3_save_16bit_model", "deepspeed_multinode_launcher",
        "deepspeed_hostfile", "deepspeed_config_file", "deepspeed_moe_layer_cls_names"})
    s.Skip(key);
  s.LeaveRest(MayMatter);
}
}  // namespace shardplan
