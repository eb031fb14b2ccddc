// SPDX-License-Identifier: Apache-2.0
#include "planner/search/shortfall.h"

#include "planner/cost/step_parts.h"

namespace shardplan {

Shortfall ShortfallOf(const Job& job, const StepCost& step) {
  const auto limits = LimitsOf(job, step);
  Shortfall worst{{}, limits[0].of, limits[0].needed, limits[0].available};
  for (const MemoryLimit& limit : limits) {
    const Bytes missing = limit.needed - limit.available;
    // A node's NVMe counts as its host.
    if (missing > worst.missing)
      worst = {missing, &limit == &limits[0] ? "memory" : "host", limit.needed, limit.available};
  }
  return worst;
}
}  // namespace shardplan
