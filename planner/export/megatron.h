// SPDX-License-Identifier: Apache-2.0
// Flags of Megatron-LM's pretrain_gpt.py. Private to planner/export/megatron*.cc.
#pragma once
#include <vector>

#include "planner/export/bundle.h"
#include "planner/export/job.h"

namespace shardplan {

// Which model: sizes, norms, positions, experts.
void AddMegatronModel(const ExportJob& job, Settings& flags, std::vector<Loss>& losses);
// How it is cut and laid out: the plan's sharding and placement.
void AddMegatronLayout(const ExportJob& job, Settings& flags, std::vector<Loss>& losses);
// How state, traffic and numbers are handled: the plan's policy, and precision.
void AddMegatronPolicy(const ExportJob& job, Settings& flags, std::vector<Loss>& losses);

// "Et*3|t*4|t*3L": embedding, layers, MTP modules and loss of each stage.
std::string LayoutText(const std::vector<int>& chunks, int mtp_layers);
}  // namespace shardplan
