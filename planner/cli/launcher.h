// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of a probe on this machine, and leaves none behind.
//
// Ranks are shardplan-probe processes in a process group of their own, which die with this process
// and are killed whole at the deadline, on a signal, or when a rank failed and the others do not
// end by themselves.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "planner/base/quantity.h"
#include "planner/base/result.h"

namespace shardplan {

struct Launch {
  int processes = 1;
  std::vector<std::string> arguments;  // of shardplan-probe
  Seconds deadline{0};                 // 0: none
  // All ranks on one GPU: NCCL takes each for a host of its own, and meets over loopback.
  bool share_gpu = false;
};

// Where shardplan-probe is: $SHARDPLAN_PROBE, beside this program, or on the PATH.
std::string ProbeProgram();

// Calls `on_line` with each line that a rank prints on standard output. What ranks print on
// standard error goes to this one's, each line once, however many ranks say it. Returns the exit
// code: 130 after SIGINT or SIGTERM, 2 or 1 where a rank ended so.
Result<int> RunRanks(const Launch& launch, const std::function<void(const std::string&)>& on_line);
}  // namespace shardplan
