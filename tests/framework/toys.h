// SPDX-License-Identifier: Apache-2.0
// Small models, machines and trainings for tests of rules and spaces.
#pragma once
#include <string>

#include "planner/framework/framework.h"
#include "planner/machine/machine.h"
#include "planner/model/graph.h"

namespace shardplan::toys {

// A Llama of given sizes.
inline Model Dense(int layers, int heads, int kv_heads = 0, int head_dim = 128) {
  Model model;
  model.name = "toy";
  model.facts = {.hidden_size = heads * head_dim,
                 .layers = layers,
                 .heads = heads,
                 .kv_heads = kv_heads > 0 ? kv_heads : heads,
                 .head_dim = head_dim,
                 .intermediate_size = 4 * heads * head_dim,
                 .vocab_size = 32000,
                 .gated_mlp = true};
  return model;
}

inline Model WithExperts(Model model, int experts, int width) {
  model.facts.experts = experts;
  model.facts.experts_per_token = 2;
  model.facts.moe_intermediate_size = width;
  return model;
}

inline Model Llama70B() {
  Model model = Dense(80, 64, 8);
  model.name = "llama-70b";
  model.facts.intermediate_size = 28672;
  return model;
}

inline Model Llama405B() {
  Model model = Dense(126, 128, 8);
  model.name = "llama-405b";
  model.facts.intermediate_size = 53248;
  return model;
}

inline Model DeepseekV3() {
  Model model = WithExperts(Dense(61, 128, 128), 256, 2048);
  model.name = "deepseek-v3";
  model.facts.hidden_size = 7168;
  model.facts.intermediate_size = 18432;
  model.facts.experts_per_token = 8;
  model.facts.mla = true;
  model.facts.mtp_layers = 1;
  return model;
}

inline Machine Hopper(int nodes, int gpus_per_node = 8) {
  Machine machine;
  machine.nodes = nodes;
  machine.gpus_per_node = gpus_per_node;
  machine.scale_up_domain = gpus_per_node;
  machine.gpu.name = "h100";
  machine.gpu.architecture = Architecture::kHopper;
  machine.gpu.fp16 = machine.gpu.bf16 = {989e12};
  machine.gpu.fp8 = {1979e12};
  return machine;
}

inline Training With(FrameworkId id, int batch = 1024, int seq_length = 8192) {
  Training training;
  training.framework = id;
  training.framework_version = FrameworkOf(id).newest_version;
  training.global_batch_size = batch;
  training.seq_length = seq_length;
  return training;
}
}  // namespace shardplan::toys
