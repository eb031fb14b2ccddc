// SPDX-License-Identifier: Apache-2.0
// How sure a prediction is: each named part carries a log-normal factor; parts err independently,
// all plans of a job alike.
#pragma once
#include <array>

#include "planner/cost/cost.h"

namespace shardplan {

// Relative standard deviation of a sum of parts.
double MemorySpread(const MemoryParts& parts, const Doubt& doubt);
// `framework`: what is known of the framework's steps as a whole (Conventions::time_deviation).
double TimeSpread(const TimeParts& parts, const Machine& machine, double framework);
// Standard deviation of the logarithm of one part's factor; what the machine's profile measured is
// surer.
double Deviation(TimePart part, const Machine& machine);
// The 10-90 % range around `centre` of a log-normal with relative deviation `spread`.
template <class Quantity>
std::array<Quantity, 2> Interval(Quantity centre, double spread);
// Chance that `bytes` times the factor exceeds `limit`.
double ChanceAbove(Bytes bytes, double spread, Bytes limit);
}  // namespace shardplan
