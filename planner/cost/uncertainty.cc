// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/uncertainty.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shardplan {
namespace {

double Deviation(MemoryPart part, const Doubt& doubt) {
  switch (part) {
    case MemoryPart::kParameters:
    case MemoryPart::kGradients:
    case MemoryPart::kOptimizerStates:
      return doubt.state;
    case MemoryPart::kActivations:
    case MemoryPart::kWorkspace:
    case MemoryPart::kLogits:
      return doubt.activations;
    case MemoryPart::kGathered:
    case MemoryPart::kBuckets:
    case MemoryPart::kTemporaries:
      return doubt.buffers;
    case MemoryPart::kCount:
      break;
  }
  return 0;
}

// Prior deviations, from the spread of the published rows around the model.
double PriorDeviation(TimePart part) {
  switch (part) {
    // Kernels' rates within a step, known of a GPU to a few percent; a bubble is made of them.
    case TimePart::kCompute:
    case TimePart::kRecompute:
    case TimePart::kPipelineBubble:
      return 0.04;
    case TimePart::kOptimizer:
      return 0.2;
    // Traffic: how much of it hides is a setting that few state.
    case TimePart::kTensorComm:
    case TimePart::kContextComm:
    case TimePart::kParameterGather:
    case TimePart::kGradientReduce:
    case TimePart::kPipelineComm:
      return 0.3;
    case TimePart::kHost:
    case TimePart::kExpertComm:
    case TimePart::kOffload:
    case TimePart::kFixed:
      return 0.5;
    case TimePart::kCount:
      break;
  }
  return 0;
}

// What is left where a profile stands in: between measured sizes of a collective times are nearly
// linear; a kernel's neighbours in shape differ by a few percent (tiles, waves).
constexpr double kMeasuredKernels = 0.03, kMeasuredTraffic = 0.15;

constexpr double kNinetyPercent = 1.2815515655446004;  // standard normal quantile

template <class Parts, class Deviations>
double Spread(const Parts& parts, const Deviations& deviation_of) {
  double total = 0, variance = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    total += parts[i].value;
    const double deviation = deviation_of(i) * parts[i].value;
    variance += deviation * deviation;
  }
  return total > 0 ? std::sqrt(variance) / total : 0;
}
}  // namespace

double Deviation(TimePart part, const Machine& machine) {
  const double prior = PriorDeviation(part);
  switch (part) {
    case TimePart::kCompute:
    case TimePart::kRecompute:
    case TimePart::kPipelineBubble:
    case TimePart::kOptimizer:
      return machine.gpu.profile ? std::min(prior, kMeasuredKernels) : prior;
    case TimePart::kTensorComm:
    case TimePart::kContextComm:
    case TimePart::kExpertComm:
    case TimePart::kPipelineComm:
    case TimePart::kParameterGather:
    case TimePart::kGradientReduce:
      return machine.profile ? std::min(prior, kMeasuredTraffic) : prior;
    case TimePart::kHost:
    case TimePart::kOffload:
    case TimePart::kFixed:
    case TimePart::kCount:
      break;
  }
  return prior;
}

double MemorySpread(const MemoryParts& parts, const Doubt& doubt) {
  return Spread(parts, [&](std::size_t i) { return Deviation(static_cast<MemoryPart>(i), doubt); });
}
double TimeSpread(const TimeParts& parts, const Machine& machine, double framework) {
  const double by_part =
      Spread(parts, [&](std::size_t i) { return Deviation(static_cast<TimePart>(i), machine); });
  return std::hypot(by_part, framework);
}

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
