// SPDX-License-Identifier: Apache-2.0
#include "planner/export/trainer.h"

#include <fmt/format.h>

#include <numeric>

#include "planner/plan/axes.h"

namespace shardplan {
namespace {

void AddPrecision(const Training& t, Settings& arguments, std::vector<Loss>& losses) {
  switch (t.precision) {
    case Precision::kBf16Mixed:
      arguments.Set("bf16");
      break;
    case Precision::kFp16Mixed:
      arguments.Set("fp16");
      break;
    case Precision::kTf32:
      arguments.Set("tf32");
      break;
    case Precision::kFp8:
    case Precision::kMxfp8:
    case Precision::kNvfp4:
      arguments.Set("bf16");
      losses.push_back({"products in 8 or 4 bits", "bf16"});
      break;
    default:
      break;
  }
}

const char* OptimizerName(const Training& t, std::vector<Loss>& losses) {
  const bool paged = t.optimizer_impl == OptimizerImpl::kPaged;
  switch (t.optimizer) {
    case Optimizer::kAdam:
    case Optimizer::kAdamW:
      if (paged) return "paged_adamw_32bit";
      if (t.optimizer_impl == OptimizerImpl::kForLoop)
        losses.push_back({"the optimizer's loop over tensors", "PyTorch's foreach kernels"});
      return t.optimizer_impl == OptimizerImpl::kFused ? "adamw_torch_fused" : "adamw_torch";
    case Optimizer::kAdamW8bit:
      return paged ? "paged_adamw_8bit" : "adamw_bnb_8bit";
    case Optimizer::kAdafactor:
      return "adafactor";
    case Optimizer::kSgd:
      return "sgd";
    case Optimizer::kLion:
      return paged ? "paged_lion_32bit" : "lion_32bit";
    default:
      losses.push_back({"the optimizer", "AdamW"});
      return "adamw_torch";
  }
}
}  // namespace

int CheckpointEvery(const ExportJob& job, std::vector<Loss>& losses) {
  const Recompute& recompute = job.plan().sharding.recompute;
  const int layers = job.shape.layers;
  switch (recompute.kind) {
    case RecomputeKind::kNone:
      return 0;
    case RecomputeKind::kFull:
      return 1;
    case RecomputeKind::kSelective:
      losses.push_back({"recompute selective",
                        job.training().attention == AttentionImpl::kEager
                            ? "none: scores are kept"
                            : "none: the attention kernel recomputes its scores by itself"});
      return 0;
    case RecomputeKind::kModules:
      losses.push_back({fmt::format("recompute of {}", Text(recompute)), "whole layers, all"});
      return 1;
    case RecomputeKind::kLayers:
      break;
  }
  const int asked = std::accumulate(recompute.layers.begin(), recompute.layers.end(), 0);
  if (asked == 0) return 0;
  const int every = std::max(1, layers / asked), done = (layers + every - 1) / every;
  if (done != asked)
    losses.push_back({fmt::format("recompute of {} layers", asked),
                      fmt::format("one in {}: {} layers", every, done)});
  return every;
}

void AddTrainingArguments(const ExportJob& job, Settings& arguments, std::vector<Loss>& losses) {
  const Training& t = job.training();
  const auto& [s, p, q] = job.plan();
  arguments.Set("output_dir", "output");
  arguments.Set("per_device_train_batch_size", s.micro_batch_size);
  arguments.Set("gradient_accumulation_steps", p.microbatches);
  arguments.Set("max_steps", job.Steps());
  arguments.Set("learning_rate", kLearningRate);
  arguments.Set("weight_decay", kWeightDecay);
  arguments.Set("lr_scheduler_type", "cosine");
  arguments.Set("max_grad_norm", 1.0);
  AddPrecision(t, arguments, losses);
  arguments.Set("optim", OptimizerName(t, losses));
  if (const int every = CheckpointEvery(job, losses); every > 0) {
    arguments.Set("gradient_checkpointing");
    Json options{{"use_reentrant", false}};
    if (every > 1) options["every_n_layers"] = every;
    arguments.Set("gradient_checkpointing_kwargs", options);
  }
  if (t.compile) arguments.Set("torch_compile");
  if (t.loss != LossImpl::kEager && !(t.compile && t.loss == LossImpl::kCompiled))
    losses.push_back({"the loss", "transformers' cross entropy over fp32 logits"});
  arguments.Set("logging_steps", 1);
  arguments.Set("save_strategy", "no");
  arguments.Set("report_to", "none");
  arguments.Set("dataloader_num_workers", 2);
}

Json NestedJson(const Settings& settings) {
  Json root = Json::object();
  for (const auto& [key, value] : settings.list) {
    Json* at = &root;
    std::size_t start = 0;
    for (std::size_t dot; (dot = key.find('.', start)) != std::string::npos; start = dot + 1)
      at = &(*at)[key.substr(start, dot - start)];
    (*at)[key.substr(start)] = value;
  }
  return root;
}
}  // namespace shardplan
