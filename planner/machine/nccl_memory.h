// SPDX-License-Identifier: Apache-2.0
// Device memory that one rank gives to one communicator, by what has run on it (NCCL 2.28.9
// 2).
#pragma once
#include "planner/base/quantity.h"
#include "planner/machine/nccl_paths.h"

namespace shardplan {

struct CommunicatorMemory {
  Bytes init;         // bookkeeping of channels, from the start
  Bytes collectives;  // rings, trees, NVLS: from the first collective on
  Bytes all_to_all;   // FIFOs to every peer: from the first all-to-all on
  Bytes neighbour;    // FIFOs of a pipeline's two neighbours
};
CommunicatorMemory MemoryOf(const Paths& paths, const NcclKnobs& knobs);
}  // namespace shardplan
