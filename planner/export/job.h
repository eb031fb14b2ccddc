// SPDX-License-Identifier: Apache-2.0
// What an export reads: a plan, what it is for and what is predicted of it.
#pragma once
#include <string>

#include "planner/cost/cost.h"
#include "planner/model/decoder.h"
#include "planner/report/subject.h"

namespace shardplan {

// REQUIRES: what is referred to outlives the job; the plan is legal for the framework.
struct ExportJob {
  const Subject& subject;     // with model, machine and training
  const DecoderShape& shape;  // of the model
  const Json& config;         // its keys in Hugging Face's names
  const Evaluation& evaluation;
  std::string origin;  // how the plan was chosen, for the README

  const Plan& plan() const { return evaluation.plan; }
  const Training& training() const { return *subject.training; }
  const Machine& machine() const { return *subject.machine; }
  const Model& model() const { return *subject.model; }
  int Nodes() const {
    const auto& [s, p, q] = plan();
    const int gpus = s.tp * s.cp * p.pp * p.dp;
    return std::max(1, gpus / machine().gpus_per_node);
  }
  // GPUs used of each node: all of them where the plan spans several.
  int PerNode() const {
    const auto& [s, p, q] = plan();
    return std::min(machine().gpus_per_node, s.tp * s.cp * p.pp * p.dp);
  }
  // Optimizer steps of the whole run; 1,000 where the spec does not tell its tokens.
  std::int64_t Steps() const {
    const double tokens = static_cast<double>(training().global_batch_size) * training().seq_length;
    return training().tokens > 0
               ? std::max<std::int64_t>(1, static_cast<std::int64_t>(training().tokens / tokens))
               : 1000;
  }
};
}  // namespace shardplan
