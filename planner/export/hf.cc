// SPDX-License-Identifier: Apache-2.0
// A plan as transformers' Trainer over PyTorch: DDP, or FSDP2 where parameters are sharded.
#include <fmt/format.h>

#include "planner/export/model_config.h"
#include "planner/export/python_script.h"
#include "planner/export/target.h"
#include "planner/export/trainer.h"

namespace shardplan {
namespace {

// Why the Trainer cannot run it without a checkpoint or another backend; empty: it can.
std::string WhyNot(const ExportJob& job) {
  const auto& [s, p, q] = job.plan();
  if (s.tp > 1)
    return fmt::format(
        "tp {}: transformers cuts layers while it loads a checkpoint, and a bundle "
        "starts with fresh weights; tp 1 works",
        s.tp);
  if (s.cp > 1) return fmt::format("cp {}: use --to deepspeed (Ulysses); cp 1 works", s.cp);
  if (q.zero_stage == 1) return "zero_stage 1: use --to deepspeed; zero_stage 0, 2 and 3 work";
  if (q.offload == Offload::kOptimizer)
    return "offload optimizer: use --to deepspeed; none and optimizer+params work";
  if (q.zero_group > 0 && q.zero_group < p.dp && q.zero_stage > 0)
    return fmt::format("zero_group {}: use --to accelerate; leave it out", q.zero_group);
  return {};
}

void AddFsdp(const ExportJob& job, Settings& arguments) {
  const Policy& q = job.plan().policy;
  arguments.Set("fsdp", true);
  arguments.Set("fsdp_config", Json{{"version", 2},
                                    {"reshard_after_forward", q.zero_stage == 3},
                                    {"auto_wrap_policy", "TRANSFORMER_BASED_WRAP"},
                                    {"offload_params", q.offload == Offload::kOptimizerAndParams},
                                    {"cpu_ram_efficient_loading", false}});
}
}  // namespace

Result<Script> WriteHf(const ExportJob& job, std::string_view version) {
  if (const std::string why = WhyNot(job); !why.empty()) return Cannot(why);
  Script script;
  Settings arguments{.table = fmt::format("transformers@{}", version), .list = {}};
  AddTrainingArguments(job, arguments, script.losses);
  if (job.plan().policy.zero_stage >= 2)
    AddFsdp(job, arguments);
  else
    arguments.Set("ddp_find_unused_parameters", false);
  script.files = {{"training_args.json", NestedJson(arguments).dump(2) + "\n"},
                  ModelConfigFile(job),
                  TrainerScript(job)};
  script.program = {"train.py"};
  script.needs = {fmt::format("transformers {} and accelerate", version),
                  "`TOKENS`, a .npy file of token ids, for real data; made-up ones without it",
                  "`MODEL`, a checkpoint to go on from; fresh weights without it"};
  script.settings = {arguments};
  return script;
}
}  // namespace shardplan
