// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/cost.h"

namespace shardplan {

const char* Name(MemoryPart part) {
  switch (part) {
    case MemoryPart::kParameters:
      return "parameters";
    case MemoryPart::kGradients:
      return "gradients";
    case MemoryPart::kOptimizerStates:
      return "optimizer_states";
    case MemoryPart::kActivations:
      return "activations";
    case MemoryPart::kWorkspace:
      return "workspace";
    case MemoryPart::kLogits:
      return "logits";
    case MemoryPart::kGathered:
      return "gathered_parameters";
    case MemoryPart::kBuckets:
      return "reduction_buffers";
    case MemoryPart::kTemporaries:
      return "optimizer_temporaries";
    case MemoryPart::kCount:
      break;
  }
  return "";
}

const char* Name(TimePart part) {
  switch (part) {
    case TimePart::kCompute:
      return "compute";
    case TimePart::kRecompute:
      return "recompute";
    case TimePart::kHost:
      return "launch_bound";
    case TimePart::kTensorComm:
      return "tensor_comm";
    case TimePart::kContextComm:
      return "context_comm";
    case TimePart::kExpertComm:
      return "expert_comm";
    case TimePart::kPipelineBubble:
      return "pipeline_bubble";
    case TimePart::kPipelineComm:
      return "pipeline_comm";
    case TimePart::kParameterGather:
      return "parameter_gather";
    case TimePart::kGradientReduce:
      return "gradient_reduce";
    case TimePart::kOptimizer:
      return "optimizer";
    case TimePart::kOffload:
      return "offload";
    case TimePart::kFixed:
      return "fixed";
    case TimePart::kCount:
      break;
  }
  return "";
}

const char* Name(CommGroup group) {
  switch (group) {
    case CommGroup::kTensor:
      return "tensor";
    case CommGroup::kContext:
      return "context";
    case CommGroup::kExpert:
      return "expert";
    case CommGroup::kData:
      return "data";
    case CommGroup::kPipeline:
      return "pipeline";
    case CommGroup::kCount:
      break;
  }
  return "";
}

const char* Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return "fits";
    case Verdict::kTight:
      return "tight";
    case Verdict::kOom:
      return "oom";
    case Verdict::kIllegal:
      return "illegal";
  }
  return "";
}
}  // namespace shardplan
