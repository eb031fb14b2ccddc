// SPDX-License-Identifier: Apache-2.0
// A plan as nanotron's YAML.
#include <fmt/format.h>

#include <cmath>

#include "planner/export/environment.h"
#include "planner/export/model_config.h"
#include "planner/export/target.h"
#include "planner/export/trainer.h"
#include "planner/export/yaml_text.h"
#include "planner/framework/common.h"

namespace shardplan {
namespace {

// nanotron's sections and the classes that read them; the table of keys has the classes.
constexpr std::pair<std::string_view, std::string_view> kClasses[] = {
    {"general.", "GeneralArgs."},
    {"parallelism.", "ParallelismArgs."},
    {"model.model_config.", "LlamaConfig."},
    {"model.init_method.", "RandomInit."},
    {"model.", "ModelArgs."},
    {"tokenizer.", "TokenizerArgs."},
    {"tokens.", "TokensArgs."},
    {"optimizer.learning_rate_scheduler.", "LRSchedulerArgs."},
    {"optimizer.", "OptimizerArgs."},
    {"checkpoints.", "CheckpointsArgs."},
    {"logging.", "LoggingArgs."},
    {"data.", "DataArgs."}};

Settings UnderClasses(const Settings& keys, std::string_view version) {
  Settings named{.table = fmt::format("nanotron@{}", version), .list = {}};
  for (const auto& [key, value] : keys.list)
    for (const auto& [section, name] : kClasses)
      if (key.rfind(section, 0) == 0) {
        named.Set(std::string(name) + key.substr(section.size()), value);
        break;
      }
  return named;
}

std::string WhyNot(const ExportJob& job) {
  const DecoderShape& s = job.shape;
  const bool llama = s.experts == 0 && s.gated && s.activation == Activation::kSilu &&
                     s.norm == NormKind::kRms && s.rotary && s.kv_lora_rank == 0 &&
                     s.qk_norm == QkNorm::kNone && s.norms_per_layer == 2 && !s.sinks &&
                     s.head_dim * s.heads == s.hidden;
  if (!llama) return fmt::format("{}: nanotron 0.4 has Llama's shape", s.family);
  if (IsNarrow(job.training().precision)) return "8 and 4 bits: nanotron trains in bf16 or fp32";
  return {};
}

void AddModel(const ExportJob& job, Settings& keys) {
  const DecoderShape& s = job.shape;
  const std::string config = "model.model_config.";
  keys.Set(config + "is_llama_config");
  keys.Set(config + "hidden_size", s.hidden);
  keys.Set(config + "intermediate_size", s.ffn);
  keys.Set(config + "num_hidden_layers", s.layers);
  keys.Set(config + "num_attention_heads", s.heads);
  keys.Set(config + "num_key_value_heads", s.kv_heads);
  keys.Set(config + "vocab_size", s.vocab);
  keys.Set(config + "max_position_embeddings",
           std::max(s.max_positions, job.training().seq_length));
  keys.Set(config + "tie_word_embeddings", s.tied);
  keys.Set(config + "rms_norm_eps", NormEpsilon(job.config).value_or(1e-5));
  keys.Set(config + "hidden_act", "silu");
  keys.Set("model.init_method.std", 1 / std::sqrt(static_cast<double>(s.hidden)));
  keys.Set("model.dtype", IsFull(job.training().precision) ? "float32" : "bfloat16");
  keys.Set("model.make_vocab_size_divisible_by", 1);
}

void AddPlan(const ExportJob& job, Settings& keys, std::vector<Loss>& losses) {
  const auto& [s, p, q] = job.plan();
  keys.Set("parallelism.dp", p.dp);
  keys.Set("parallelism.tp", s.tp);
  keys.Set("parallelism.pp", p.pp);
  keys.Set("parallelism.expert_parallel_size", 1);
  keys.Set("parallelism.pp_engine", p.schedule == Schedule::kGpipe ? "afab" : "1f1b");
  keys.Set("parallelism.tp_mode", s.sp ? "REDUCE_SCATTER" : "ALL_REDUCE");
  keys.Set("parallelism.tp_linear_async_communication", s.sp);
  keys.Set("tokens.sequence_length", job.training().seq_length);
  keys.Set("tokens.micro_batch_size", s.micro_batch_size);
  keys.Set("tokens.batch_accumulation_per_replica", p.microbatches);
  keys.Set("tokens.train_steps", job.Steps());
  if (!p.stage_layers.empty()) losses.push_back({"stage_layers", "nanotron's own split, by FLOPs"});
  if (s.recompute.kind != RecomputeKind::kNone)
    losses.push_back({"recompute", "none: nanotron 0.4 has no setting for it"});
  if (job.training().attention != AttentionImpl::kFlash)
    losses.push_back({"the attention kernel", "flash attention"});
}

void AddOptimizer(const ExportJob& job, Settings& keys, std::vector<Loss>& losses) {
  const Training& t = job.training();
  keys.Set("optimizer.zero_stage", job.plan().policy.zero_stage);
  keys.Set("optimizer.accumulate_grad_in_fp32", t.gradient_dtype == Dtype::kFp32);
  keys.Set("optimizer.clip_grad", 1.0);
  keys.Set("optimizer.weight_decay", 0.1);
  keys.Set("optimizer.adam_beta1", 0.9);
  keys.Set("optimizer.adam_beta2", 0.95);
  keys.Set("optimizer.adam_eps", 1e-8);
  keys.Set("optimizer.torch_adam_is_fused", t.optimizer_impl == OptimizerImpl::kFused);
  const std::string rate = "optimizer.learning_rate_scheduler.";
  keys.Set(rate + "learning_rate", kLearningRate);
  keys.Set(rate + "lr_warmup_steps", std::max<std::int64_t>(1, job.Steps() / 100));
  keys.Set(rate + "lr_warmup_style", "linear");
  keys.Set(rate + "lr_decay_style", "cosine");
  keys.Set(rate + "min_decay_lr", kLearningRate / 10);
  if (t.optimizer != Optimizer::kAdam && t.optimizer != Optimizer::kAdamW)
    losses.push_back({"the optimizer", "AdamW"});
}
}  // namespace

Result<Script> WriteNanotron(const ExportJob& job, std::string_view version) {
  if (const std::string why = WhyNot(job); !why.empty()) return Cannot(why);
  Script script;
  Settings keys;
  keys.Set("general.project", "shardplan");
  keys.Set("general.run", job.subject.title);
  keys.Set("general.seed", 42);
  AddPlan(job, keys, script.losses);
  AddModel(job, keys);
  // Tokens are made up where no data set is named.
  keys.Set("tokenizer.tokenizer_name_or_path", nullptr);
  AddOptimizer(job, keys, script.losses);
  keys.Set("checkpoints.checkpoints_path", "checkpoints");
  keys.Set("checkpoints.checkpoint_interval", 1000);
  keys.Set("logging.log_level", "info");
  keys.Set("logging.iteration_step_info_interval", 1);
  keys.Set("data.dataset", nullptr);
  keys.Set("data.seed", 42);
  keys.Set("data.num_loading_workers", 1);
  script.files = {{"config.yaml", YamlText(NestedJson(keys))}};
  script.program = {"\"${NANOTRON_PATH:-/opt/nanotron}/run_train.py\"", "--config-file",
                    "config.yaml"};
  script.environment = {{"CUDA_DEVICE_MAX_CONNECTIONS", "1", "nanotron asserts it"}};
  script.needs = {
      fmt::format("nanotron {} in /opt/nanotron, or where `NANOTRON_PATH` says", version),
      "a data set in `config.yaml` for real data; made-up tokens without it"};
  script.settings = {UnderClasses(keys, version)};
  return script;
}
}  // namespace shardplan
