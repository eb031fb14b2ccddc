// SPDX-License-Identifier: Apache-2.0
// Which layers a framework puts on which pipeline stage.
//
// A split is the layers of each chunk, pp * vpp numbers in the order of the model. Chunk i is
// virtual stage i / pp of rank i % pp (the second half runs backwards under zb-v and dualpipe). A
// chunk of no layers still holds the embedding (the first) or the head (the last). Empty: cannot be
// split so.
#pragma once
#include <vector>

#include "planner/framework/framework.h"
#include "planner/model/graph.h"
#include "planner/plan/plan.h"

namespace shardplan {

int LayersOf(const Model& model);

// Even where that works, as Megatron does by itself; else what --pipeline-model-parallel-layout can
// say: no two chunks differ by more than one layer, the first and the last are the lightest, MTP
// modules count as layers of the last, and the ranks stay balanced.
std::vector<int> SplitMegatron(const Model& model, int pp, int vpp);
// Embedding and head count as one layer each; earlier stages take what is left over (torchtitan's
// generate_llm_fqn_per_model_part, which NeMo AutoModel shares).
std::vector<int> SplitTorch(const Model& model, int pp, int vpp);
// By FLOPs, the head's counted: a stage is full when its running sum passes its share.
std::vector<int> SplitNanotron(const Model& model, int pp, int vpp);
// By parameters: the least possible heaviest stage (PipelineModule's default).
std::vector<int> SplitDeepspeed(const Model& model, int pp, int vpp);
// Balanced, the first and the last are the lightest.
std::vector<int> SplitBalanced(const Model& model, int pp, int vpp);
// One stage only.
std::vector<int> SplitNot(const Model& model, int pp, int vpp);

// The split of a placement: stage_layers where it is set (of every chunk, or of every rank, which
// then spreads its own evenly over its chunks), else the framework's.
std::vector<int> ChunkLayers(const Framework& framework, const Model& model,
                             const Placement& placement);
}  // namespace shardplan
