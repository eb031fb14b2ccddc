// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules: micro batches in flight, the least possible length, the exact length.
//
// A stage is its forward and backward time of one micro batch. Pure functions; no memory, no
// policy.
#pragma once
#include <vector>

#include "planner/base/quantity.h"
#include "planner/plan/plan.h"

namespace shardplan {

struct StageTimes {
  Seconds forward, backward;
};

// Micro batches whose activations stage `stage` holds at its peak, in units of one micro batch on
// all the stage's layers. (planner/README.md, Eq. 13; arXiv 2205.05198 for interleaving)
double InFlight(Schedule schedule, int stage, int pp, int vpp, int microbatches);

// No order of work lets the pipeline end before this: the stage's own work, what must come before
// its first and after its last, and the time it must wait for later stages. `before` and `after`
// are the sums of forward + backward of one micro batch over earlier and later stages. (Eq. 14)
Seconds LeastPipelineTime(Schedule schedule, const StageTimes& own, Seconds before, Seconds after,
                          int later_stages, int vpp, int microbatches);

// The schedule played out, transfers of `p2p` between stages included; zero bubbles and their
// transfers run beside other work. REQUIRES: not DualPipe. (Eq. 15)
Seconds SimulatePipeline(Schedule schedule, const std::vector<StageTimes>& stages, Seconds p2p,
                         int vpp, int microbatches);
}  // namespace shardplan
