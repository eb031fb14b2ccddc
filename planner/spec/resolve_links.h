// SPDX-License-Identifier: Apache-2.0
// Links of a cluster: inside a domain, between nodes, and NCCL's settings over both.
#pragma once
#include "planner/machine/machine.h"
#include "planner/spec/spec_text.h"

namespace shardplan {

// What the spec's cluster.scale_up leaves out comes from the customary node, then from PCIe.
Result<ScaleUp> ResolveScaleUp(const SpecText& text, const v1::Node& customary, const v1::Gpu& gpu);
// The same for cluster.scale_out. Fewer GPUs per node than the customary node's bring as much fewer
// NICs.
Result<ScaleOut> ResolveScaleOut(const SpecText& text, const v1::Node& customary, int nodes,
                                 int gpus_per_node);
Result<NcclSettings> ResolveNccl(const SpecText& text, const v1::Nccl& given);
}  // namespace shardplan
