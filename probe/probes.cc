// SPDX-License-Identifier: Apache-2.0
#include "probe/probes.h"

namespace shardplan::probe {

const std::vector<Probe>& Probes() {
  static const std::vector<Probe> probes{
      {"collectives", "collective operations over groups of ranks, as nccl-tests has them",
       DeclareCollectives, MeasureCollectives},
      {"disk", "files past the page cache", DeclareDisk, MeasureDisk},
      {"gemm", "matrix products", DeclareGemm, MeasureGemm},
  };
  return probes;
}

const Probe* FindProbe(std::string_view name) {
  for (const Probe& probe : Probes())
    if (probe.name == name) return &probe;
  return nullptr;
}
}  // namespace shardplan::probe
