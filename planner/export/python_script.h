// SPDX-License-Identifier: Apache-2.0
// Python programs of bundles whose framework has none of its own.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/export/bundle.h"
#include "planner/export/job.h"

namespace shardplan {

// transformers' Trainer, set by training_args.json; `deepspeed_mics`: the model is built by
// DeepSpeed's MiCS_Init.
File TrainerScript(const ExportJob& job);

// A loop of our own over PyTorch: DDP, FSDP2 or accelerate.
File DdpScript(const ExportJob& job);
File FsdpScript(const ExportJob& job);
File AccelerateScript(const ExportJob& job);

// Each "@NAME@" of `text` replaced by its value. REQUIRES: every one has a value.
std::string Filled(std::string text,
                   const std::vector<std::pair<std::string_view, std::string>>& values);
// True, False, None, numbers, quoted text, lists.
std::string PythonText(const Json& value);

// What transformers calls the plan's attention.
const char* AttentionName(const Training& training);
}  // namespace shardplan
