// SPDX-License-Identifier: Apache-2.0
// One reader a framework: from its settings to the spec. Private to planner/import.
//
// A reader sets what its framework does where a setting is left out, so that the plan is fixed: a
// key that it does not write means the same by default. It takes the cluster as already read.
#pragma once
#include <string>
#include <vector>

#include "planner/import/draft.h"

namespace shardplan {

// Megatron-LM's pretrain_gpt.py, and its DeepSpeed fork.
void ReadMegatron(SettingList& arguments, Draft& draft);
void ReadMegatronModel(SettingList& arguments, Draft& draft);  // part of it

// A DeepSpeed configuration: zero_optimization, bf16, ... "auto" is left to the Trainer's values,
// which are read before.
void ReadDeepspeed(SettingList& json, Draft& draft);

// transformers' TrainingArguments, with the names that TRL, LLaMA-Factory and the examples add.
void ReadTrainer(SettingList& arguments, Draft& draft);

// accelerate's configuration file, or the options of `accelerate launch`.
void ReadAccelerate(SettingList& config, Draft& draft);

// torchtitan 0.2's TOML, with options of its command line over it.
void ReadTorchtitan(SettingList& toml, Draft& draft);

// Where a model's name is a path or a repository ("meta-llama/Llama-2-7b-hf"): the preset that it
// is; false, and a key asked for, where none is.
bool SetModelByName(const std::string& name, const Setting& from, Draft& draft);

// hidden_size of the model as far as it is read; transformers' "auto" sizes hang on it.
std::optional<int> HiddenSizeOf(Draft& draft);
std::optional<int> LayersOfModel(Draft& draft);

// plan.stage_layers, as `from` says them.
void SetStages(Draft& draft, const std::vector<int>& layers, const Setting& from);

// zero_group of `replicas` copies of the sharded state, where the cluster is known.
void SetReplicas(int replicas, const Setting& from, Draft& draft);

// global_batch_size = micro_batch_size * accumulation * data-parallel ranks.
void SetBatchByAccumulation(int accumulation, const Setting* from, Draft& draft);
}  // namespace shardplan
