// SPDX-License-Identifier: Apache-2.0
// torchtitan's settings under the names of its TOML sections. Private to planner/export.
#pragma once
#include <string>
#include <vector>

#include "planner/export/bundle.h"
#include "planner/export/job.h"

namespace shardplan {

// What no torchtitan can run; empty: nothing.
std::string WhyNotTorchtitan(const ExportJob& job);

// training.*, parallelism.*, activation_checkpoint.* and the like, in 0.2's names. `since_python`:
// without what 0.3 took away.
void AddTorchtitan(const ExportJob& job, bool since_python, Settings& keys,
                   std::vector<Loss>& losses);

// The layers, embedding and head of each pipeline stage, by torchtitan's module names.
Json StageModules(const ExportJob& job, const std::string& head);
}  // namespace shardplan
