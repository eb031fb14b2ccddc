// SPDX-License-Identifier: Apache-2.0
#include "probe/probes.h"

namespace shardplan::probe {

const std::vector<Probe>& Probes() {
  static const std::vector<Probe> probes{
      {"attention", "fused attention, forward or backward", DeclareAttention, MeasureAttention},
      {"collectives", "collective operations over groups of ranks, as nccl-tests has them",
       DeclareCollectives, MeasureCollectives},
      {"copy", "copies within a device and over its link to the host", DeclareCopy, MeasureCopy},
      {"disk", "files past the page cache", DeclareDisk, MeasureDisk},
      {"elementwise", "memory-bound passes: norms, activations, loss, optimizer, routing",
       DeclareElementwise, MeasureElementwise},
      {"gemm", "matrix products", DeclareGemm, MeasureGemm},
      {"launch", "what starting a kernel takes", DeclareLaunch, MeasureLaunch},
      {"memory", "patterns of access that tell the levels of memory apart", DeclareMemory,
       MeasureMemory},
      {"occupancy", "registers, shared memory and occupancy of our own kernels", DeclareOccupancy,
       MeasureOccupancy},
      {"overlap", "a copy and a matrix product at once", DeclareOverlap, MeasureOverlap},
  };
  return probes;
}

const Probe* FindProbe(std::string_view name) {
  for (const Probe& probe : Probes())
    if (probe.name == name) return &probe;
  return nullptr;
}
}  // namespace shardplan::probe
