// SPDX-License-Identifier: Apache-2.0
#include "planner/search/prune.h"

#include "planner/cost/step_parts.h"

namespace shardplan {

Seconds LeastTime(const StageCost& stage, const Overlap& most) {
  const Policy policy{.overlap = most};
  Seconds longest;
  for (const StageLoad& load : stage.loads) {
    const Seconds length = stage.pp == 1 ? load.pass.Under(most) * double(stage.microbatches)
                                         : PipelineTime(stage, policy, load, {});
    longest = Max(longest, length);
  }
  // The pipeline fills and drains through pp - 1 transfers each.
  return longest + stage.p2p * (2.0 * (stage.pp - 1));
}
}  // namespace shardplan
