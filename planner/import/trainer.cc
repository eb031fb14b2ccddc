// SPDX-License-Identifier: Apache-2.0
// transformers' TrainingArguments (training_args.py, 5.x), as flags, JSON or YAML, with the names
// for model and sequence that its examples, TRL and LLaMA-Factory add.
#include <fmt/format.h>

#include <algorithm>

#include "planner/import/readers.h"

namespace shardplan {
namespace {

bool MayMatter(const Setting& setting) {
  static constexpr std::string_view kIdle[] = {"output_dir",
                                               "packing",
                                               "overwrite",
                                               "do_",
                                               "eval",
                                               "per_device_eval",
                                               "prediction",
                                               "learning_rate",
                                               "weight_decay",
                                               "adam_",
                                               "max_grad_norm",
                                               "num_train_epochs",
                                               "max_steps",
                                               "lr_",
                                               "warmup",
                                               "log",
                                               "save",
                                               "seed",
                                               "data_seed",
                                               "run_name",
                                               "report_to",
                                               "push_to",
                                               "hub_",
                                               "load_best",
                                               "metric",
                                               "greater",
                                               "ignore_data",
                                               "dataset",
                                               "train_file",
                                               "validation",
                                               "data",
                                               "text_col",
                                               "preprocessing",
                                               "overwrite_cache",
                                               "dataloader",
                                               "remove_unused",
                                               "label",
                                               "disable_tqdm",
                                               "local_rank",
                                               "ddp_",
                                               "tokenizer",
                                               "use_fast",
                                               "trust_remote",
                                               "token",
                                               "cache_dir",
                                               "model_revision",
                                               "config_overrides",
                                               "low_cpu_mem",
                                               "streaming",
                                               "max_train_samples",
                                               "max_eval",
                                               "keep_linebreaks",
                                               "resume",
                                               "template",
                                               "plot",
                                               "stage",
                                               "val_",
                                               "include_",
                                               "full_determinism",
                                               "torchdynamo",
                                               "torch_compile_",
                                               "accelerator_config",
                                               "length_column",
                                               "group_by",
                                               "fsdp_transformer",
                                               "fsdp_min",
                                               "gradient_checkpointing_kwargs",
                                               "lora_alpha",
                                               "lora_dropout",
                                               "config_name",
                                               "model_type",
                                               "prompt",
                                               "max_samples",
                                               "conv",
                                               "version",
                                               "beta",
                                               "image",
                                               "lazy",
                                               "bf16_full_eval",
                                               "fp16_full_eval",
                                               "half_precision_backend",
                                               "fp16_opt",
                                               "no_cuda",
                                               "source",
                                               "use_auth",
                                               "project",
                                               "skip_memory",
                                               "jit",
                                               "neftune",
                                               "optim_args",
                                               "optim_target",
                                               "restore_callback",
                                               "average_tokens",
                                               "chat",
                                               "eos",
                                               "pad",
                                               "ddp",
                                               "mlm",
                                               "pref_",
                                               "sft_"};
  const auto begins = [&](std::string_view idle) { return setting.name.starts_with(idle); };
  return std::none_of(std::begin(kIdle), std::end(kIdle), begins);
}

// 16-bit weights, or autocast over fp32 ones.
void ReadPrecision(SettingList& s, Draft& d) {
  const bool bf16 = s.On("bf16", "train.precision"), fp16 = s.On("fp16", "train.precision");
  const auto dtype = s.Word("torch_dtype").value_or(s.Word("dtype").value_or("auto"));
  const bool pure = dtype == "bfloat16" || s.On("pure_bf16", "train.precision");
  v1::Train& train = d.train();
  if (pure)
    train.set_precision(v1::PRECISION_BF16_TRUE);
  else if (dtype == "float16")
    train.set_precision(v1::PRECISION_FP16_TRUE);
  else if (bf16 || fp16)
    train.set_precision(bf16 ? v1::PRECISION_BF16_MIXED : v1::PRECISION_FP16_MIXED);
  else if (!train.has_precision())
    train.set_precision(s.On("tf32", "train.precision") ? v1::PRECISION_TF32 : v1::PRECISION_FP32);
  s.Skip("tf32");
}

void ReadOptimizer(SettingList& s, Draft& d) {
  const auto name = s.Word("optim", "train.optimizer").value_or("adamw_torch_fused");
  v1::Train& train = d.train();
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  train.set_optimizer(has("8bit")        ? v1::OPTIMIZER_ADAMW_8BIT
                      : has("adafactor") ? v1::OPTIMIZER_ADAFACTOR
                      : has("lion")      ? v1::OPTIMIZER_LION
                      : name == "sgd"    ? v1::OPTIMIZER_SGD
                                         : v1::OPTIMIZER_ADAMW);
  if (has("paged"))
    train.set_optimizer_impl(v1::OPTIMIZER_IMPL_PAGED);
  else if (has("fused"))
    train.set_optimizer_impl(v1::OPTIMIZER_IMPL_FUSED);
  else if (name == "adamw_torch" || name == "adamw_hf")
    train.set_optimizer_impl(v1::OPTIMIZER_IMPL_FOREACH);
  const bool known = has("adam") || has("adafactor") || has("lion") || name == "sgd";
  if (!known) s.Leave("optim", "AdamW is counted");
}

void ReadModel(SettingList& s, Draft& d) {
  for (const char* name : {"model_name_or_path", "model_id", "model_name", "base_model", "model"})
    if (const Setting* setting = s.Take(name); setting != nullptr && setting->values.size() == 1) {
      SetModelByName(setting->values[0], *setting, d);
      break;
    }
  for (const char* name : {"max_seq_length", "cutoff_len", "model_max_length", "block_size",
                           "max_length", "sequence_len", "seq_length", "max_seq_len"})
    if (const auto length = s.Size(name, "train.seq_length")) {
      d.train().set_seq_length(*length);
      break;
    }
  if (!d.train().has_seq_length())
    d.Need("train.seq_length", "the arguments do not tell it: give --set train.seq_length=N");
  const auto attention = s.Word("attn_implementation", "train.attention")
                             .value_or(s.Word("flash_attn", "train.attention").value_or(""));
  if (attention.rfind("flash", 0) == 0 || attention == "fa2" || s.On("use_flash_attn"))
    d.train().set_attention(v1::ATTENTION_FLASH);
  else if (attention == "eager" || attention == "disabled")
    d.train().set_attention(v1::ATTENTION_EAGER);
  else if (attention == "sdpa")
    d.train().set_attention(v1::ATTENTION_SDPA);
}

void ReadAdapters(SettingList& s, Draft& d) {
  const auto kind = s.Word("finetuning_type", "train.task").value_or("full");
  const bool quantized = s.On("load_in_4bit", "train.task") || s.On("load_in_8bit", "train.task") ||
                         s.Has("quantization_bit");
  s.Skip("quantization_bit");
  const bool lora =
      kind == "lora" || s.On("use_peft", "train.task") || s.On("use_lora", "train.task");
  const auto targets = [&] {
    std::vector<std::string> words = s.Words("lora_target_modules");
    return words.empty() ? s.Words("lora_target") : words;
  }();
  const auto rank = s.Size("lora_r", "train.lora.rank")
                        .value_or(s.Size("lora_rank", "train.lora.rank").value_or(8));
  if (!lora && !quantized) return;
  d.train().set_task(quantized ? v1::TASK_QLORA : v1::TASK_LORA);
  d.train().mutable_lora()->set_rank(std::min(rank, 100'000));
  for (const std::string& target : targets)
    if (!IsUnknown(target)) d.train().mutable_lora()->add_targets(target);
}

// "full_shard auto_wrap offload"
void ReadFsdp(SettingList& s, Draft& d) {
  std::string words;
  for (const std::string& value : s.Words("fsdp", "plan.zero_stage")) words += value + " ";
  const auto has = [&](const char* word) { return words.find(word) != std::string::npos; };
  if (words.empty() || words == "false " || words == "null ") return;
  d.train().set_framework(v1::FRAMEWORK_FSDP);
  Fix(d.plan().mutable_zero_stage(), has("shard_grad_op") ? 2 : has("no_shard") ? 0 : 3);
  if (has("hybrid_shard") && d.spec().cluster().has_gpus_per_node()) {
    Fix(d.plan().mutable_zero_group(), d.spec().cluster().gpus_per_node());
    d.From("plan.zero_group", *s.Take("fsdp"));
  }
  if (has("offload")) {
    Fix(d.plan().mutable_offload(), v1::OFFLOAD_OPTIMIZER_AND_PARAMS);
    d.From("plan.offload", *s.Take("fsdp"));
  }
  const bool checkpoints = s.On("fsdp_config.activation_checkpointing", "plan.recompute");
  if (checkpoints) d.plan().mutable_recompute(0)->set_kind(v1::RECOMPUTE_KIND_FULL);
  for (const Setting& setting : std::vector<Setting>(s.all()))
    if (setting.name.rfind("fsdp_config", 0) == 0) s.Skip(setting.name);
}
}  // namespace

void ReadTrainer(SettingList& s, Draft& d) {
  v1::Train& train = d.train();
  v1::Plan& plan = d.plan();
  if (!train.has_framework()) train.set_framework(v1::FRAMEWORK_HF);
  ReadModel(s, d);
  ReadPrecision(s, d);
  ReadOptimizer(s, d);
  ReadAdapters(s, d);
  if (plan.tp_size() == 0)
    Fix(plan.mutable_tp(), s.Size("tensor_parallel_size", "plan.tp").value_or(1));
  Fix(plan.mutable_pp(), 1);
  if (plan.cp_size() == 0) Fix(plan.mutable_cp(), 1);
  if (plan.zero_stage_size() == 0) Fix(plan.mutable_zero_stage(), 0);
  if (plan.recompute_size() == 0) plan.add_recompute()->set_kind(v1::RECOMPUTE_KIND_NONE);
  if (s.On("gradient_checkpointing", "plan.recompute"))
    plan.mutable_recompute(0)->set_kind(v1::RECOMPUTE_KIND_FULL);
  if (plan.offload_size() == 0) Fix(plan.mutable_offload(), v1::OFFLOAD_NONE);
  ReadFsdp(s, d);
  Fix(plan.mutable_micro_batch_size(),
      s.Size("per_device_train_batch_size", "plan.micro_batch_size")
          .value_or(s.Size("micro_batch_size", "plan.micro_batch_size").value_or(8)));
  const Setting* steps = s.Take("gradient_accumulation_steps");
  SetBatchByAccumulation(s.Size("gradient_accumulation_steps").value_or(1), steps, d);
  train.set_compile(s.On("torch_compile", "train.compile"));
  if (!train.compile()) train.clear_compile();
  if (s.On("use_liger_kernel", "train.loss") || s.On("enable_liger_kernel", "train.loss"))
    train.set_loss(v1::LOSS_CHUNKED);
  s.LeaveRest(MayMatter);
}
}  // namespace shardplan
