// SPDX-License-Identifier: Apache-2.0
// How long a piece of work takes: warm-up, samples until the rule says stop.
#pragma once
#include "probe/device.h"
#include "probe/stopping.h"

namespace shardplan::probe {

struct MeasureOptions {
  StoppingRule rule;
  int warm_up = 2;             // runs before the first sample, at least
  Seconds warm_up_time{};      // and as long as this: clocks settle under the work's own power
  Seconds least_sample{1e-3};  // short work is repeated within a sample up to this
  bool cold = false;           // evict the last cache before each sample, which then holds one run
  Work before;                 // run before each sample, not measured; a sample then holds one run
};

// Seconds of one run of `work`. Samples hold equally many runs, back to back.
Result<Summary> Measure(Device& device, Stream& stream, const Work& work,
                        const MeasureOptions& options);

// Seconds between two events around `runs` runs of `work`, over `runs`.
Result<Seconds> TimeOf(Device& device, Stream& stream, const Work& work, int runs);
}  // namespace shardplan::probe
