// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/uncertainty.h"

#include <cmath>
#include <numbers>

namespace shardplan {
namespace {

// Prior relative deviations, from the spread of the published rows around the model (docs:
// planner/README.md, "How sure"). State is arithmetic; activations depend on kernels; buffers on
// settings nobody prints.
double Deviation(MemoryPart part) {
  switch (part) {
    case MemoryPart::kParameters:
    case MemoryPart::kGradients:
    case MemoryPart::kOptimizerStates:
      return 0.02;
    case MemoryPart::kActivations:
      return 0.08;
    case MemoryPart::kWorkspace:
      return 0.3;
    case MemoryPart::kLogits:
      return 0.1;
    case MemoryPart::kGathered:
      return 0.15;
    case MemoryPart::kBuckets:
      return 0.25;
    case MemoryPart::kTemporaries:
      return 0.2;
    case MemoryPart::kCount:
      break;
  }
  return 0;
}

double Deviation(TimePart part) {
  switch (part) {
    case TimePart::kCompute:
    case TimePart::kRecompute:
    case TimePart::kPipelineBubble:
    case TimePart::kOptimizer:
      return 0.2;
    case TimePart::kHost:
    case TimePart::kTensorComm:
    case TimePart::kContextComm:
    case TimePart::kExpertComm:
    case TimePart::kPipelineComm:
    case TimePart::kParameterGather:
    case TimePart::kGradientReduce:
    case TimePart::kOffload:
    case TimePart::kFixed:
      return 0.5;
    case TimePart::kCount:
      break;
  }
  return 0;
}

constexpr double kNinetyPercent = 1.2815515655446004;  // standard normal quantile

template <class Part, class Parts>
double Spread(const Parts& parts) {
  double total = 0, variance = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    total += parts[i].value;
    const double deviation = Deviation(static_cast<Part>(i)) * parts[i].value;
    variance += deviation * deviation;
  }
  return total > 0 ? std::sqrt(variance) / total : 0;
}
}  // namespace

double MemorySpread(const MemoryParts& parts) { return Spread<MemoryPart>(parts); }
double TimeSpread(const TimeParts& parts) { return Spread<TimePart>(parts); }

template <class Quantity>
std::array<Quantity, 2> Interval(Quantity centre, double spread) {
  const double factor = std::exp(kNinetyPercent * spread);
  return {centre / factor, centre * factor};
}
template std::array<Bytes, 2> Interval(Bytes, double);
template std::array<Seconds, 2> Interval(Seconds, double);

double ChanceAbove(Bytes bytes, double spread, Bytes limit) {
  if (limit.value <= 0) return 1;
  if (bytes.value <= 0 || spread <= 0) return bytes > limit ? 1 : 0;
  return 0.5 * std::erfc(std::log(limit / bytes) / spread / std::numbers::sqrt2);
}
}  // namespace shardplan
