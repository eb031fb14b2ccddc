// SPDX-License-Identifier: Apache-2.0
// Names of Megatron's arguments that decide nothing here, and of its recompute modules.
#pragma once
#include <string>

#include "planner/import/draft.h"

namespace shardplan {

// False for what is known to change neither memory nor time of a step nor legality: paths, logging,
// checkpoints' files, schedules of the learning rate, seeds, the router's losses.
bool MayMatterToMegatron(const Setting& setting);

// RECOMPUTE_MODULE_UNSPECIFIED: none is called so.
v1::RecomputeModule RecomputeModuleNamed(const std::string& word);
}  // namespace shardplan
