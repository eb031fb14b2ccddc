// SPDX-License-Identifier: Apache-2.0
// A command that starts training, taken apart: what the launcher is told, what the script.
#pragma once
#include <string>
#include <vector>

#include "planner/import/draft.h"
#include "planner/import/shell.h"

namespace shardplan {

struct LaunchCommand {
  std::vector<std::string> launchers;  // "srun", "torchrun", "deepspeed", "accelerate", ...
  std::string program;                 // pretrain_gpt.py, or a module
  Spot spot;
  SettingList launcher, script;
};
LaunchCommand TakeApart(const ShellCommand& command, Draft& draft);

// Nodes and GPUs as torchrun, deepspeed, accelerate or srun are told.
void ReadLauncher(LaunchCommand& launch, Draft& draft);

// #SBATCH lines of a script as settings.
void AddSlurm(const Placed& script, SettingList& settings);
// Nodes, GPUs and the kind of GPU, by what sbatch or srun is told.
void ReadSlurm(SettingList& slurm, Draft& draft);

// Variables of the environment that the cost model knows: NCCL's, the allocator's.
void ReadEnvironment(const Shell& shell, const ShellCommand& command, Draft& draft);
}  // namespace shardplan
