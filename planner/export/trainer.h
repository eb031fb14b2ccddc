// SPDX-License-Identifier: Apache-2.0
// transformers' TrainingArguments, shared by the targets that run its Trainer. Private to
// planner/export.
#pragma once
#include <vector>

#include "planner/export/bundle.h"
#include "planner/export/job.h"

namespace shardplan {

inline constexpr char kTransformers[] = "transformers@5.17";
inline constexpr double kLearningRate = 3e-4, kWeightDecay = 0.1;

// Batch, steps, precision, optimizer, recomputation, compilation.
void AddTrainingArguments(const ExportJob& job, Settings& arguments, std::vector<Loss>& losses);

// Every how many layers gradient checkpointing recomputes one: 0 none, 1 all.
int CheckpointEvery(const ExportJob& job, std::vector<Loss>& losses);

// The settings as one JSON object, dotted keys nested.
Json NestedJson(const Settings& settings);
}  // namespace shardplan
