// SPDX-License-Identifier: Apache-2.0
// cluster.profile: records of probes (contract.md section 5), YAML or JSON lines, as measurements.
//
// Records of other probes, failed allocations and wrong results say nothing here and are passed
// over; what is no record at all is an error with its place.
#pragma once
#include <vector>

#include "planner/base/result.h"
#include "planner/cost/kernel_correction.h"
#include "planner/machine/profile.h"
#include "planner/report/json.h"
#include "planner/spec/source.h"

namespace shardplan {

// A file of records: a YAML (or JSON) list, or one JSON object a line.
Result<std::vector<Json>> ReadRecords(const SourcePtr& source);

struct Measurements {
  CollectiveProfile collectives;
  KernelMeasurements kernels;
};
Measurements MeasurementsOf(const std::vector<Json>& records);
// Puts them into the machine. REQUIRES: all else of the machine is resolved.
void Apply(const Measurements& measurements, Machine& machine);
}  // namespace shardplan
