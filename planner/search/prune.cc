// SPDX-License-Identifier: Apache-2.0
#include "planner/search/prune.h"

#include <algorithm>

#include "planner/cost/step_parts.h"

namespace shardplan {
namespace {

PassTime PassOf(const BlockCost& block) {
  return {.plain = block.Pass() - block.tensor_comm - block.expert_comm,
          .tensor = block.tensor_comm,
          .expert = block.expert_comm};
}

// One micro batch through all layers, and the least share of a block's pass that overlap leaves.
struct AllLayers {
  Seconds pass;
  double left = 1;

  void Add(const BlockCost& block, const Overlap& most) {
    const PassTime time = PassOf(block);
    const Seconds whole = time.Under({});
    pass += whole;
    if (whole.value > 0) left = std::min(left, time.Under(most) / whole);
  }
};
}  // namespace

Seconds LeastTime(const LayersCost& layers, const Model& model, const Placement& placement,
                  const Overlap& most) {
  AllLayers all;
  all.Add(layers.embedding, most);
  all.Add(layers.head, most);
  for (const BlockCost& module : layers.mtp) all.Add(module, most);
  for (const int layer : model.layers)
    all.Add(layers.blocks[static_cast<std::size_t>(layer)], most);
  // The slowest stage without overlap has at least its even share, and overlap leaves of its pass
  // no less than of the block that it shortens most.
  return all.pass * (all.left * placement.microbatches / placement.pp);
}

Seconds LeastTime(const StageCost& stage, const Overlap& most) {
  const Policy policy{.overlap = most};
  Seconds longest;
  for (const StageLoad& load : stage.loads)
    longest = Max(longest, PipelineTime(stage, policy, load, {}));
  // The pipeline fills and drains through pp - 1 transfers each.
  return longest + stage.p2p * (2.0 * (stage.pp - 1));
}
}  // namespace shardplan
