// SPDX-License-Identifier: Apache-2.0
// A plan as Megatron-LM's pretrain_gpt.py.
#include "planner/export/megatron.h"

#include <fmt/format.h>

#include "planner/export/environment.h"
#include "planner/export/shell.h"
#include "planner/export/target.h"

namespace shardplan {
namespace {

// What a run needs and no plan says; later arguments override it.
void AddRun(const ExportJob& job, Settings& flags) {
  flags.Set("--train-iters", job.Steps());
  flags.Set("--lr", 3e-4);
  flags.Set("--min-lr", 3e-5);
  flags.Set("--lr-decay-style", "cosine");
  flags.Set("--lr-warmup-fraction", 0.01);
  flags.Set("--weight-decay", 0.1);
  flags.Set("--clip-grad", 1.0);
  flags.Set("--eval-iters", 0);
  flags.Set("--log-interval", 1);
  flags.Set("--log-throughput");
  flags.Set("--distributed-backend", "nccl");
}

std::string DataText(int vocabulary) {
  return fmt::format(
      "# Made-up tokens, or DATA_PATH and TOKENIZER_MODEL.\n"
      "if [[ -n ${{DATA_PATH:-}} ]]; then\n"
      "  data=(\n"
      "    --data-path \"$DATA_PATH\" --split '100,0,0'\n"
      "    --tokenizer-type HuggingFaceTokenizer\n"
      "    --tokenizer-model \"${{TOKENIZER_MODEL:?tokenizer of the data}}\"\n"
      "  )\n"
      "else\n"
      "  data=(--mock-data --tokenizer-type NullTokenizer --vocab-size {})\n"
      "fi\n"
      "# Nothing is saved unless CHECKPOINTS names a directory.\n"
      "if [[ -n ${{CHECKPOINTS:-}} ]]; then\n"
      "  data+=(--save \"$CHECKPOINTS\" --load \"$CHECKPOINTS\" --save-interval 500)\n"
      "fi\n",
      vocabulary);
}
}  // namespace

Result<Script> WriteMegatron(const ExportJob& job, std::string_view version) {
  Script script;
  Settings flags{.table = fmt::format("megatron@{}", version), .list = {}};
  AddMegatronModel(job, flags, script.losses);
  AddMegatronLayout(job, flags, script.losses);
  AddMegatronPolicy(job, flags, script.losses);
  AddRun(job, flags);
  script.setup = ArrayOf("arguments", flags) + "\n" + DataText(job.shape.vocab);
  script.program = {"\"${MEGATRON_PATH:-/opt/megatron-lm}/pretrain_gpt.py\"", "\"${arguments[@]}\"",
                    "\"${data[@]}\""};
  script.environment = {DeviceConnections(job, job.plan().policy.zero_stage >= 2)};
  script.needs = {
      fmt::format("Megatron-LM core_r{}.0 in /opt/megatron-lm, or where `MEGATRON_PATH` says, with "
                  "Transformer Engine",
                  version),
      "`DATA_PATH` and `TOKENIZER_MODEL` for real data; made-up tokens without them"};
  script.settings.push_back(std::move(flags));
  return script;
}
}  // namespace shardplan
