// SPDX-License-Identifier: Apache-2.0
// probe profile SPEC -o FILE: measures what the best plans of a spec ask of this machine.
//
// Points go from the most telling to the least; what FILE already has is not measured again, so
// that an interrupted run is resumed by the same command. FILE is what cluster.profile reads.
#pragma once
#include <string>
#include <vector>

#include "planner/cli/options.h"

namespace shardplan {

struct ProfileOptions {
  SpecOptions spec;
  std::string output;
  int processes = 1;
  bool share_gpu = false;
  std::vector<std::string> rest;  // for shardplan-probe
};
// Returns the exit code.
int Profile(const ProfileOptions& options);
}  // namespace shardplan
