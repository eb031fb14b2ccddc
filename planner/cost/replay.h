// SPDX-License-Identifier: Apache-2.0
// The allocator's replay: one stage's training steps walked tensor by tensor through a model of the
// caching allocator. (planner/README.md, Eq. 27-29)
//
// From the numbers that the instants sum up: parameters and buffers first, then steps until they
// repeat themselves, the optimizer's states being born in the first. Its peak of allocated bytes is
// the instants' but for a few small tensors; what it adds is what the allocator holds on top.
#pragma once
#include <string>
#include <vector>

#include "planner/cost/cost.h"

namespace shardplan {

struct StageReplay {
  Bytes allocated, reserved, pinned;       // the most in a step that repeats itself
  std::vector<StageMemory::Point> series;  // of that step, in order
  std::vector<Contributor> at_peak;        // when most is allocated, the largest first
};

// More passes of layers in flight are walked several at a time, each of their tensors as one:
// totals are the same, and so in proportion is what the allocator adds.
inline constexpr int kMostLayerPasses = 64;

StageReplay ReplayStage(const Job& job, const LayersCost& layers, const StageCost& stage,
                        const StageLoad& load, const Plan& plan,
                        int most_layer_passes = kMostLayerPasses);
}  // namespace shardplan
