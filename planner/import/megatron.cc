// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's arguments (megatron/training/arguments.py, core 0.14 to 0.18) but the model's.
#include <fmt/format.h>

#include <algorithm>

#include "planner/import/megatron_layout.h"
#include "planner/import/megatron_names.h"
#include "planner/import/readers.h"

namespace shardplan {
namespace {

void ReadDegrees(SettingList& s, Draft& d) {
  v1::Plan& plan = d.plan();
  const int tp = s.Size("tensor_model_parallel_size", "plan.tp")
                     .value_or(s.Size("model_parallel_size", "plan.tp").value_or(1));
  Fix(plan.mutable_tp(), tp);
  Fix(plan.mutable_pp(), s.Size("pipeline_model_parallel_size", "plan.pp").value_or(1));
  const int cp = s.Size("context_parallel_size", "plan.cp").value_or(1);
  Fix(plan.mutable_cp(), cp);
  const auto kind = s.Words("cp_comm_type", cp > 1 ? "plan.cp_kind" : "");
  if (cp > 1) {
    const std::string word = kind.empty() ? "p2p" : kind.front();
    if (word == "a2a+p2p") d.Warn("cp_comm_type a2a+p2p is taken for a2a (ulysses)");
    Fix(plan.mutable_cp_kind(), word.rfind("a2a", 0) == 0   ? v1::CP_KIND_ULYSSES
                                : word.rfind("all", 0) == 0 ? v1::CP_KIND_ALLGATHER
                                                            : v1::CP_KIND_RING);
  }
  // Ulysses of Megatron-DeepSpeed.
  if (const auto ulysses = s.Size("ds_sequence_parallel_size", "plan.cp");
      ulysses && *ulysses > 1) {
    Fix(plan.mutable_cp(), *ulysses);
    Fix(plan.mutable_cp_kind(), v1::CP_KIND_ULYSSES);
  }
  if (s.Has("num_experts")) {
    const int ep = s.Size("expert_model_parallel_size", "plan.ep").value_or(1);
    Fix(plan.mutable_ep(), ep);
    Fix(plan.mutable_etp(), s.Size("expert_tensor_parallel_size", "plan.etp").value_or(tp));
  } else {
    s.Skip("expert_model_parallel_size");
    s.Skip("expert_tensor_parallel_size");
  }
  // validate_args switches it off for one tensor rank, with a warning.
  Fix(plan.mutable_sp(), s.On("sequence_parallel", "plan.sp") && tp > 1);
}

void ReadBatch(SettingList& s, Draft& d) {
  v1::Train& train = d.train();
  const int micro = s.Size("micro_batch_size", "plan.micro_batch_size")
                        .value_or(s.Size("batch_size", "plan.micro_batch_size").value_or(1));
  if (!d.Knows("plan.micro_batch_size"))
    d.Need("plan.micro_batch_size", "Megatron has no default; 1 is taken");
  Fix(d.plan().mutable_micro_batch_size(), micro);
  if (const auto seq = s.Size("seq_length", "train.seq_length"))
    train.set_seq_length(*seq);
  else if (const auto encoder = s.Size("encoder_seq_length", "train.seq_length"))
    train.set_seq_length(*encoder);
  else
    d.Need("train.seq_length", "give --set train.seq_length=N");
  if (const auto batch = s.Size("global_batch_size", "train.global_batch_size"))
    train.set_global_batch_size(*batch);
  else
    SetBatchByAccumulation(1, nullptr, d);
  s.Leave("rampup_batch_size", "the batch is taken at its full size", false);
  const double samples = s.Number("train_samples", "train.tokens")
                             .value_or(s.Number("train_iters", "train.tokens").value_or(0) *
                                       static_cast<double>(train.global_batch_size()));
  const double tokens = s.Number("train_tokens", "train.tokens")
                            .value_or(samples * static_cast<double>(train.seq_length()));
  if (tokens > 0 && tokens <= 1e18) train.set_tokens(tokens);
}

void ReadPrecision(SettingList& s, Draft& d) {
  v1::Train& train = d.train();
  const bool bf16 = s.On("bf16", "train.precision"), fp16 = s.On("fp16", "train.precision");
  train.set_precision(bf16   ? v1::PRECISION_BF16_MIXED
                      : fp16 ? v1::PRECISION_FP16_MIXED
                             : v1::PRECISION_FP32);
  const bool fp8 = s.Has("fp8_format") || s.On("fp8_hybrid") || s.On("fp8_e4m3");
  const std::string recipe =
      s.OneOf("fp8_recipe", {"delayed", "tensorwise", "blockwise", "mxfp8", "custom"},
              "train.fp8.recipe")
          .value_or("delayed");
  if (fp8 && s.OneOf("fp8_format", {"e4m3", "hybrid", "none"}, "train.precision") != "none") {
    train.set_precision(recipe == "mxfp8" ? v1::PRECISION_MXFP8 : v1::PRECISION_FP8);
    if (recipe != "mxfp8")
      train.mutable_fp8()->set_recipe(recipe == "tensorwise"  ? v1::FP8_RECIPE_TENSORWISE
                                      : recipe == "blockwise" ? v1::FP8_RECIPE_BLOCKWISE
                                                              : v1::FP8_RECIPE_DELAYED);
  }
  if (s.On("fp8_param_gather", "train.fp8.params") || s.On("fp8_param", "train.fp8.params")) {
    train.mutable_fp8()->set_params(true);
    train.mutable_fp8()->set_all_gather(true);
  }
  if (s.Has("fp4_format")) {
    s.Skip("fp4_format"), s.Skip("fp4_recipe");
    train.set_precision(v1::PRECISION_NVFP4);
  }
  const auto dtype = [](const std::string& word) {
    return word == "bf16"   ? v1::DTYPE_BF16
           : word == "fp16" ? v1::DTYPE_FP16
           : word == "fp8"  ? v1::DTYPE_FP8
                            : v1::DTYPE_FP32;
  };
  if (s.On("grad_reduce_in_bf16", "train.reduce_dtype")) {
    train.set_reduce_dtype(v1::DTYPE_BF16);
    train.set_gradient_dtype(v1::DTYPE_BF16);
  }
  if (s.On("accumulate_allreduce_grads_in_fp32", "train.gradient_dtype") && fp16) {
    train.set_gradient_dtype(v1::DTYPE_FP32);
    train.set_reduce_dtype(v1::DTYPE_FP32);
  }
  const std::vector<std::string> widths = {"fp32", "bf16", "fp16", "fp8"};
  if (const auto grads = s.OneOf("main_grads_dtype", widths, "train.gradient_dtype"))
    if (*grads != "fp32") train.set_gradient_dtype(dtype(*grads));
  const auto moment = s.OneOf("exp_avg_dtype", widths, "train.optimizer_state_dtype");
  if (moment && *moment != "fp32") train.set_optimizer_state_dtype(dtype(*moment));
  const auto second = s.OneOf("exp_avg_sq_dtype", widths);
  if (second != moment) s.Leave("exp_avg_sq_dtype", "both moments are taken in exp_avg_dtype");
  if (s.OneOf("main_params_dtype", widths) == "fp16")
    s.Leave("main_params_dtype", "fp32 master parameters are counted");
}

void ReadState(SettingList& s, Draft& d) {
  v1::Plan& plan = d.plan();
  const bool distributed = s.On("use_distributed_optimizer", "plan.zero_stage");
  int zero = distributed ? 1 : 0;
  const bool megatron_fsdp = s.On("use_megatron_fsdp") || s.On("use_custom_fsdp");
  const auto strategy = s.OneOf("data_parallel_sharding_strategy",
                                {"no_shard", "optim", "optim_grads", "optim_grads_params"},
                                megatron_fsdp ? "plan.zero_stage" : "");
  if (megatron_fsdp)
    zero = !strategy || *strategy == "optim_grads_params" ? 3
           : *strategy == "optim_grads"                   ? 2
           : *strategy == "optim"                         ? 1
                                                          : 0;
  if (s.On("use_torch_fsdp2", "plan.zero_stage")) zero = 3;
  if (const auto stage = s.Whole("zero_stage", 0, "plan.zero_stage"))  // Megatron-DeepSpeed
    zero = static_cast<int>(std::min<std::int64_t>(*stage, 3));
  // Under bf16 its engine shards the optimizer's state by itself (BF16_Optimizer).
  if (s.Has("deepspeed") && zero == 0 && s.Has("bf16")) zero = 1;
  Fix(plan.mutable_zero_stage(), zero);
  if (const Setting* instances = s.Take("num_distributed_optimizer_instances"))
    if (const auto count = s.Size("num_distributed_optimizer_instances"); count && *count > 1)
      SetReplicas(*count, *instances, d);

  v1::Overlap& overlap = *plan.mutable_overlap();
  overlap.set_grad_reduce(s.On("overlap_grad_reduce", "plan.overlap.grad_reduce"));
  overlap.set_param_gather(s.On("overlap_param_gather", "plan.overlap.param_gather"));
  overlap.set_tp(s.On("tp_comm_overlap", "plan.overlap.tp"));
  overlap.set_moe(s.On("overlap_moe_expert_parallel_comm", "plan.overlap.moe"));
  const bool interleaved = plan.vpp(0) > 1;
  overlap.set_p2p(interleaved && !s.On("no_overlap_p2p_communication", "plan.overlap.p2p"));

  v1::Offload offload = v1::OFFLOAD_NONE;
  if (s.On("optimizer_cpu_offload", "plan.offload")) offload = v1::OFFLOAD_OPTIMIZER;
  if (s.On("cpu_optimizer", "plan.offload")) offload = v1::OFFLOAD_OPTIMIZER;
  if (s.On("fine_grained_activation_offloading", "plan.offload")) {
    offload = v1::OFFLOAD_ACTIVATIONS;
    s.Leave("offload_modules", "the activations of all layers are taken as offloaded");
  }
  if (const auto fraction = s.Number("optimizer_offload_fraction");
      fraction && *fraction < 1 && offload == v1::OFFLOAD_OPTIMIZER)
    s.Leave("optimizer_offload_fraction", "all of the optimizer's state is taken as offloaded");
  s.Skip("use_precision_aware_optimizer");
  s.Skip("overlap_cpu_optimizer_d2h_h2d");
  Fix(plan.mutable_offload(), offload);
}

void ReadOptimizer(SettingList& s, Draft& d) {
  const std::string optimizer =
      s.OneOf("optimizer", {"adam", "sgd", "muon", "dist_muon"}, "train.optimizer")
          .value_or("adam");
  // Megatron's adam decays weights decoupled, as AdamW does.
  d.train().set_optimizer(optimizer == "adam"  ? v1::OPTIMIZER_ADAMW
                          : optimizer == "sgd" ? v1::OPTIMIZER_SGD_MOMENTUM
                                               : v1::OPTIMIZER_MUON);
}

void ReadRecompute(SettingList& s, Draft& d) {
  v1::Recompute& recompute = *d.plan().add_recompute();
  recompute.set_kind(v1::RECOMPUTE_KIND_NONE);
  std::string granularity =
      s.OneOf("recompute_granularity", {"full", "selective"}, "plan.recompute").value_or("");
  if (granularity.empty() && s.On("recompute_activations", "plan.recompute"))
    granularity = "selective";
  // Megatron of 2021 and its DeepSpeed fork.
  const bool old = s.On("checkpoint_activations", "plan.recompute");
  if (granularity.empty() && old) granularity = "full";
  if (granularity.empty() && s.Has("activations_checkpoint_method")) granularity = "full";
  s.Skip("activations_checkpoint_num_layers");
  s.Skip("deepspeed_activation_checkpointing");
  s.Skip("checkpoint_num_layers");
  const std::string method =
      s.OneOf("recompute_method", {"uniform", "block"})
          .value_or(s.OneOf("activations_checkpoint_method", {"uniform", "block"}, "plan.recompute")
                        .value_or(old ? "uniform" : ""));
  const Setting* number = s.Take("recompute_num_layers");
  const int layers = s.Size("recompute_num_layers").value_or(1);
  const std::vector<std::string> modules = s.Words("recompute_modules");
  if (granularity == "full") {
    recompute.set_kind(v1::RECOMPUTE_KIND_FULL);
    if (method == "block" && number != nullptr) {
      // So many layers of each pipeline rank's virtual stage, not of the model.
      recompute.clear_kind();
      const int chunks = d.plan().vpp(0);
      for (int stage = 0; stage < d.plan().pp(0) && stage < 10'000; ++stage)
        recompute.add_layers(layers * chunks);
      d.From("plan.recompute", *number);
    } else if (layers > 1) {
      d.Leave(*number, "checkpoints of one layer are counted, and one layer recomputed at a time",
              true);
    }
  } else if (granularity == "selective") {
    recompute.set_kind(v1::RECOMPUTE_KIND_SELECTIVE);
    const bool core_alone = modules.size() == 1 && modules[0] == "core_attn";
    if (!modules.empty() && !core_alone) {
      recompute.clear_kind();
      for (const std::string& module : modules)
        if (const v1::RecomputeModule known = RecomputeModuleNamed(module))
          recompute.add_modules(known);
        else
          d.Fail(s.Take("recompute_modules")->spot, "recompute_modules",
                 fmt::format("there is no module '{}'", Shown(module)),
                 "it takes core_attn, moe_act, layernorm, mla_up_proj, mlp, moe, shared_experts");
      d.From("plan.recompute", *s.Take("recompute_modules"));
    }
  }
  s.Leave("distribute_saved_activations", "whole checkpoints are counted on each tensor rank");
}

void ReadKernels(SettingList& s, Draft& d) {
  v1::Train& train = d.train();
  const std::string backend =
      s.OneOf("attention_backend", {"auto", "flash", "fused", "unfused", "local"},
              "train.attention")
          .value_or("auto");
  const std::string engine =
      s.OneOf("transformer_impl", {"local", "transformer_engine", "inference_optimized"})
          .value_or("transformer_engine");
  const bool flash = s.On("use_flash_attn", "train.attention") ||
                     s.On("use_flash_attn_v2", "train.attention") ||
                     s.On("use_flash_attn_triton", "train.attention");
  const bool old = s.On("use_legacy_models") || s.Has("deepspeed");
  const bool eager =
      backend == "unfused" || backend == "local" || ((engine == "local" || old) && !flash);
  train.set_attention(eager ? v1::ATTENTION_EAGER : v1::ATTENTION_FLASH);
  if (s.On("cross_entropy_loss_fusion", "train.loss"))
    train.set_loss(s.OneOf("cross_entropy_fusion_impl", {"native", "te"}, "train.loss") == "te"
                       ? v1::LOSS_TE
                       : v1::LOSS_NATIVE);
  const double hidden = s.Number("hidden_dropout", "train.dropout").value_or(0.1);
  const double attention = s.Number("attention_dropout", "train.dropout").value_or(0.1);
  train.set_dropout(std::clamp(std::max(hidden, attention), 0.0, 1.0));
  if (s.On("enable_cuda_graph", "train.cuda_graphs") ||
      (s.Has("cuda_graph_impl") && s.Word("cuda_graph_impl", "train.cuda_graphs") != "none"))
    train.set_cuda_graphs(true);
  if (s.Has("num_experts")) {
    v1::Moe& moe = *train.mutable_moe();
    const std::string dispatcher =
        s.OneOf("moe_token_dispatcher_type", {"allgather", "alltoall", "alltoall_seq", "flex"},
                "train.moe.dispatcher")
            .value_or("allgather");
    moe.set_dispatcher(dispatcher == "allgather" ? v1::MOE_DISPATCHER_ALLGATHER
                       : dispatcher == "flex"    ? v1::MOE_DISPATCHER_DEEPEP
                                                 : v1::MOE_DISPATCHER_ALLTOALL);
    if (const auto capacity = s.Number("moe_expert_capacity_factor", "train.moe.capacity_factor"))
      if (*capacity > 0) moe.set_capacity_factor(*capacity);
    if (s.On("moe_enable_deepep", "train.moe.dispatcher"))
      moe.set_dispatcher(v1::MOE_DISPATCHER_DEEPEP);
  }
}
}  // namespace

void ReadMegatron(SettingList& s, Draft& d) {
  d.train().set_framework(v1::FRAMEWORK_MEGATRON);
  ReadDegrees(s, d);
  ReadMegatronModel(s, d);
  ReadMegatronLayout(s, d);
  ReadBatch(s, d);
  ReadPrecision(s, d);
  ReadOptimizer(s, d);
  ReadState(s, d);
  ReadRecompute(s, d);
  ReadKernels(s, d);
  if (s.On("deepspeed")) {
    s.Skip("deepspeed_config");
    d.Warn("Megatron-DeepSpeed: priced with Megatron's kernels and ZeRO's sharding of state");
    s.Skip("no_pipeline_parallel");
  }
  s.LeaveRest(MayMatterToMegatron);
}
}  // namespace shardplan
