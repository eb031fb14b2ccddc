// SPDX-License-Identifier: Apache-2.0
#include "planner/search/shortfall.h"

namespace shardplan {

Shortfall ShortfallOf(const Job& job, const StepCost& step) {
  const Machine& machine = *job.machine;
  const Bytes of_gpu = machine.gpu.memory - job.memory_reserve;
  Shortfall worst{{}, "memory", step.unavoidable, of_gpu};
  const auto weigh = [&](std::string_view of, Bytes needed, Bytes available) {
    const Bytes missing = needed - available;
    if (missing > worst.missing) worst = {missing, of, needed, available};
  };
  weigh("memory", step.unavoidable, of_gpu);
  // Where nobody says how much memory a host has, it is no limit.
  if (machine.host.memory.value > 0) weigh("host", step.host, machine.host.memory);
  weigh("host", step.nvme, machine.host.nvme);
  return worst;
}
}  // namespace shardplan
