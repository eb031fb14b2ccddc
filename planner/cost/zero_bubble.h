// SPDX-License-Identifier: Apache-2.0
// Zero-bubble pipelines played out: backward split into input and weight gradients.
//
// A weight gradient waits for nothing behind it, so it fills what would be a bubble (arXiv
// 2401.10241). Each stage takes the first of: an input gradient that is ready, a forward pass that
// is ready and whose activations it may still hold, a weight gradient that is left.
#pragma once
#include <vector>

#include "planner/cost/pipeline.h"

namespace shardplan {

// Length of ZB-H1, or of ZB-V, whose second half of layers runs back over the stages to the first.
// REQUIRES: schedule is kZbH1 or kZbV; stages are not empty; microbatches >= 1.
Seconds SimulateZeroBubble(Schedule schedule, const std::vector<StageTimes>& stages,
                           int microbatches);
}  // namespace shardplan
