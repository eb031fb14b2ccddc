// SPDX-License-Identifier: Apache-2.0
// By how much a plan exceeds the memory that the machine has.
#pragma once
#include <string_view>

#include "planner/cost/cost.h"

namespace shardplan {

struct Shortfall {
  Bytes missing;            // 0: it fits
  std::string_view of;      // "memory" (of a GPU) or "host" (a node's memory or NVMe)
  Bytes needed, available;  // of what is short; of the GPU where nothing is
};

Shortfall ShortfallOf(const Job& job, const StepCost& step);
}  // namespace shardplan
