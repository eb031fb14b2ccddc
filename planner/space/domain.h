// SPDX-License-Identifier: Apache-2.0
// The candidates of each axis that a spec leaves open (contract section 2). Private to
// planner/space.
#pragma once
#include <cstdint>
#include <vector>

#include "planner/framework/framework.h"
#include "planner/machine/machine.h"
#include "planner/model/graph.h"
#include "planner/plan/plan.h"

namespace shardplan {

// Divisors of the heads up to the scale-up domain; two of them where a node is less than one.
std::vector<int> TensorDegrees(const Model& model, const Machine& machine);
// Powers of 2 up to 64 that leave a rank 4096 tokens; 1 always.
std::vector<int> ContextDegrees(const Training& training);
// Divisors of the experts up to the GPUs.
std::vector<int> ExpertDegrees(const Model& model, const Machine& machine);
// Powers of 2 up to 64 that divide the batch.
std::vector<int> MicroBatchSizes(const Training& training);
// 1 and all numbers up to layers and GPUs that divide the GPUs and that the framework can split
// into.
std::vector<int> PipelineDegrees(const Model& model, const Machine& machine,
                                 const Framework& framework);
// 1 and those up to 16 that the framework can split into.
std::vector<int> VirtualDegrees(const Model& model, const Framework& framework, int pp);
std::vector<Schedule> SchedulesOf(const Framework& framework, int pp, int vpp);

// What a framework makes of an etp that is left out.
int DefaultEtp(const Model& model, const Machine& machine, const Training& training,
               const Framework& framework, int tp, int ep, int pp);
}  // namespace shardplan
