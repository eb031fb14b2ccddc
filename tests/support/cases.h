// SPDX-License-Identifier: Apache-2.0
// Models and machines that several tests plan for, built without files.
#pragma once
#include <cstdint>
#include <random>

#include "planner/cost/cost.h"
#include "planner/machine/machine.h"
#include "planner/model/decoder.h"

namespace shardplan::testing {

Model TinyLlama();  // 1.1 B, 22 layers
Model Llama70b();
Model Mixtral();
Machine H200(int nodes, int gpus_per_node);
Machine DgxH100(int nodes);
Machine DgxA100(int nodes);
// A complete plan of a random legal shape for `machine`: products and batch add up, layers may be
// uneven.
Plan RandomPlan(std::mt19937_64& random, const Model& model, const Machine& machine,
                const Training& training);
}  // namespace shardplan::testing
