// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/plan_flags.h"

namespace shardplan {

FlagsOf FlagsFor(const Problem& problem) {
  (void)problem;
  return KeysOfPlan;
}
}  // namespace shardplan
