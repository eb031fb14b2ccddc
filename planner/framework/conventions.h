// SPDX-License-Identifier: Apache-2.0
// The conventions of each framework, one file each (framework/megatron.cc, ...).
#pragma once
#include "planner/framework/framework.h"

namespace shardplan {

Conventions MegatronConventions(const Training& training, const Model& model);
Conventions TorchtitanConventions(const Training& training, const Model& model);
Conventions FsdpConventions(const Training& training, const Model& model);
Conventions DeepspeedConventions(const Training& training, const Model& model);
Conventions DdpConventions(const Training& training, const Model& model);
Conventions HfConventions(const Training& training, const Model& model);
Conventions NanotronConventions(const Training& training, const Model& model);
Conventions NativeConventions(const Training& training, const Model& model);
}  // namespace shardplan
