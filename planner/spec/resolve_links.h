// SPDX-License-Identifier: Apache-2.0
// Links of a cluster: inside a domain, between nodes, and NCCL's settings over both.
#pragma once
#include "planner/machine/machine.h"
#include "planner/spec/spec_text.h"

namespace shardplan {

// What `given` leaves out comes from the GPU's customary node, then from PCIe.
Result<ScaleUp> ResolveScaleUp(const SpecText& text, const v1::ScaleUp& given, const v1::Gpu& gpu);
// The same. `gpus_per_node` smaller than the customary node's brings as much fewer NICs.
Result<ScaleOut> ResolveScaleOut(const SpecText& text, const v1::ScaleOut& given,
                                 const v1::Gpu& gpu, int nodes, int gpus_per_node);
Result<NcclSettings> ResolveNccl(const SpecText& text, const v1::Nccl& given);
}  // namespace shardplan
