// SPDX-License-Identifier: Apache-2.0
// What CostStep and Evaluate share: which state a policy leaves on a rank, and the bytes at one
// instant.
#pragma once
#include <array>

#include "planner/cost/cost.h"

namespace shardplan {

struct StatePerPolicy {
  StatePerPolicy(const Job& job, const StageCost& stage, const Policy& policy);
  bool parameters_sharded, stage_gathered, gradients_sharded;
  bool optimizer_on_gpu, parameters_on_gpu, activations_on_gpu;
  double dense_shard, expert_shard;  // of a rank's parameters
  double fixed;                      // bytes of fixed buckets, while gradients are reduced
  // Offloaded optimizers take the gradients to the host as they come.
  bool gradients_on_gpu() const { return optimizer_on_gpu || !gradients_sharded; }
};

// Moments in managed memory (bitsandbytes' paged optimizers): the host's, whatever visits the GPU.
inline bool PagesMoments(const Job& job) {
  return job.training->optimizer_impl == OptimizerImpl::kPaged;
}

// Bytes of the copies that are kept of each quantized weight.
double QuantizedBytes(const Job& job);

// The same for one stage, in bytes: what instants only add up. (Eq. 18)
class LoadState {
 public:
  LoadState(const Job& job, const StatePerPolicy& state, const StageLoad& load);
  Bytes Allocated(const Instant& instant) const {
    return {standing_ + autocast_ * instant.autocast_copies + gradients_ * Alive(instant) +
            activations_ * instant.activations.value + instant.workspace.value +
            instant.logits.value +
            sharded_ * (unit_gathered_ * instant.gathered.value + instant.reducing.value) +
            (instant.updated > 0 ? temporaries_ * instant.updated
                                 : stage_gathered_ + backward_buffers_)};
  }
  // What stands from the start: the weights. And between steps: with buffers and optimizer states.
  Bytes Weights() const { return {parameters_}; }
  Bytes Standing() const { return {standing_ + (whole_step_ ? gradients_ : 0)}; }
  // The same by cause; the parts add up to Allocated.
  MemoryParts Parts(const Instant& instant) const;

 private:
  double Alive(const Instant& instant) const {
    return whole_step_ ? 1 : instant.gradients - sharded_ * instant.unreduced;
  }
  bool whole_step_;
  double parameters_, states_, buckets_, workspaces_, standing_, autocast_, gradients_,
      activations_, sharded_, unit_gathered_, stage_gathered_, backward_buffers_, temporaries_;
};

// Least length of the pipeline as one stage sees it, `extra` added to each of its micro batches.
Seconds PipelineTime(const StageCost& stage, const Policy& policy, const StageLoad& load,
                     Seconds extra);

// A memory that a step must not exceed: "memory" of a GPU, "host" memory or "nvme" of a node.
struct MemoryLimit {
  const char* of;
  Bytes needed, available;
};
std::array<MemoryLimit, 3> LimitsOf(const Job& job, const StepCost& step);
}  // namespace shardplan
