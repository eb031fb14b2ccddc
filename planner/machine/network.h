// SPDX-License-Identifier: Apache-2.0
// Kinds of networks between nodes: what share of a NIC's rate NCCL reaches over each, and how late.
#pragma once
#include <array>
#include <string_view>

#include "planner/base/quantity.h"
#include "planner/machine/machine.h"

namespace shardplan {

struct NetworkKind {
  std::string_view name;     // as scale_out spells it
  double efficiency = 0.95;  // of the rate, large messages
  Seconds latency;           // one way, GPU memory to GPU memory, beside NCCL's own handling
};

// All kinds, in the order in which they are listed to users.
const std::array<NetworkKind, 7>& NetworkKinds();
// Null where no kind is called so.
const NetworkKind* FindNetworkKind(std::string_view name);
// A scale-out of `nics` NICs per node with the kind's efficiency and latency.
// REQUIRES: FindNetworkKind(kind) != nullptr.
ScaleOut NetworkOf(std::string_view kind, int nics, BytesPerSecond rate);
}  // namespace shardplan
