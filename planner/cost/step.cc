// SPDX-License-Identifier: Apache-2.0
// CostStep: what a policy makes of a stage. Called millions of times a second. (planner/README.md,
// Eq. 18-24)
#include <algorithm>

#include "planner/cost/cost.h"
#include "planner/cost/kernel_time.h"
#include "planner/cost/pipeline.h"
#include "planner/cost/step_parts.h"

namespace shardplan {

StatePerPolicy::StatePerPolicy(const Job& job, const StageCost& stage, const Policy& policy) {
  const Conventions& c = job.conventions;
  const int group =
      policy.zero_group > 0 ? std::min(policy.zero_group, stage.data_ranks) : stage.data_ranks;
  const double dense = policy.zero_stage > 0 ? group : 1;
  const double scale = double(group) / stage.data_ranks;
  const double expert = policy.zero_stage > 0 ? std::max(1.0, stage.expert_data_ranks * scale) : 1;
  parameters_sharded = policy.zero_stage >= 3 || (c.fsdp_style && policy.zero_stage == 2);
  stage_gathered = c.fsdp_style && policy.zero_stage == 2;
  gradients_sharded = policy.zero_stage >= 2 &&
                      (c.gradients_sharded_between_microbatches || policy.zero_stage >= 3);
  optimizer_on_gpu =
      policy.offload != Offload::kOptimizer && policy.offload != Offload::kOptimizerAndParams;
  parameters_on_gpu = policy.offload != Offload::kOptimizerAndParams;
  activations_on_gpu = policy.offload != Offload::kActivations;
  dense_shard = 1 / dense;
  expert_shard = 1 / expert;
  fixed = policy.zero_stage >= 1 ? c.fixed_buffer_bytes : 0;
}

double QuantizedBytes(const Job& job) {
  // Blackwell multiplies fp8 without a transpose of the weight.
  const bool transposes = job.machine->gpu.architecture != Architecture::kBlackwell;
  return job.conventions.quantized_weight_bytes +
         (transposes ? job.conventions.quantized_transpose_bytes : 0);
}

LoadState::LoadState(const Job& job, const StatePerPolicy& state, const StageLoad& load) {
  const Conventions& c = job.conventions;
  const double whole = load.dense_parameters + load.expert_parameters;
  const double shard =
      load.dense_parameters * state.dense_shard + load.expert_parameters * state.expert_shard;
  whole_step_ = c.gradient_life == GradientLife::kWholeStep;
  const double held = state.parameters_sharded ? shard : whole;
  const double quantized = load.quantized_weights * QuantizedBytes(job) * (held / whole);
  parameters_ = state.parameters_on_gpu ? c.parameter_bytes * held + quantized : 0;
  const double moments = PagesMoments(job) ? 0 : c.moment_bytes;
  states_ = state.optimizer_on_gpu ? (c.master_bytes + moments) * shard : 0;
  buckets_ = c.bucket_copy_bytes * whole;
  workspaces_ = c.blas_workspaces * BlasWorkspaces(job.machine->gpu).value;
  standing_ = parameters_ + states_ + buckets_ + workspaces_;
  autocast_ = c.autocast_copy_bytes * load.autocast_weights;
  gradients_ =
      state.gradients_on_gpu() ? c.gradient_bytes * (state.gradients_sharded ? shard : whole) : 0;
  // Offloaded activations leave two layers' worth in flight, about an eighth of what is kept.
  activations_ = state.activations_on_gpu ? 1 : 0.125;
  sharded_ = state.parameters_sharded ? 1 : 0;
  unit_gathered_ = state.stage_gathered ? 0 : 1;
  stage_gathered_ = state.stage_gathered ? c.gather_bytes * whole : 0;
  backward_buffers_ = std::min(state.fixed, 4 * whole);
  temporaries_ = state.optimizer_on_gpu
                     ? (c.optimizer_temporary_bytes + c.sharded_fp32_gradient_bytes) * shard
                     : 0;
}

MemoryParts LoadState::Parts(const Instant& instant) const {
  MemoryParts parts{};
  const auto set = [&](MemoryPart part, double bytes) {
    parts[static_cast<std::size_t>(part)] = {bytes};
  };
  set(MemoryPart::kParameters, parameters_ + autocast_ * instant.autocast_copies);
  set(MemoryPart::kGradients, gradients_ * Alive(instant));
  set(MemoryPart::kOptimizerStates, states_);
  set(MemoryPart::kActivations, activations_ * instant.activations.value);
  set(MemoryPart::kWorkspace, workspaces_ + instant.workspace.value);
  set(MemoryPart::kLogits, instant.logits.value);
  set(MemoryPart::kGathered, sharded_ * unit_gathered_ * instant.gathered.value +
                                 (instant.updated > 0 ? 0 : stage_gathered_));
  set(MemoryPart::kBuckets,
      buckets_ + sharded_ * instant.reducing.value + (instant.updated > 0 ? 0 : backward_buffers_));
  set(MemoryPart::kTemporaries, temporaries_ * instant.updated);
  return parts;
}

namespace {

Seconds& At(TimeParts& parts, TimePart part) { return parts[static_cast<std::size_t>(part)]; }

Seconds Positive(Seconds s) { return Max(s, Seconds{}); }

// Shards of a group smaller than all data ranks lie within a node.
bool IsNodeGroup(const StageCost& stage, const Policy& policy) {
  return policy.zero_group > 0 && policy.zero_group < stage.data_ranks;
}

// Communication beside `work`: what is longer than it, at least the share `first` that nothing
// covers, and the share of the hidden rest that is taken from the work. (Eq. 21)
Seconds Seen(Seconds comm, Seconds work, double first, double taken) {
  const Seconds exposed = Max(comm * first, comm - work);
  return exposed + (comm - exposed) * taken;
}

// What ZeRO-3 adds to one micro batch on a stage: gathers beside forward and backward, reductions
// beside backward, each seen where it is longer than the work it hides under.
struct Sharded {
  Seconds gather, scatter;
};
Sharded ExposedSharding(const Conventions& c, const StageLoad& load, const Policy& policy,
                        const StageCost& stage) {
  Sharded exposed;
  const UnitTimes& units = IsNodeGroup(stage, policy) ? load.within_node : load.everywhere;
  const Seconds pass = load.pass.Under(policy.overlap);
  const Seconds forward = pass * load.forward_share, backward = pass - forward;
  // FSDP under a pipeline gathers its stage and reduces its gradients once a step.
  const bool once = c.fsdp_style && stage.pp > 1;
  const double times = once ? 1.0 / stage.microbatches : 1;
  const bool gathers = policy.zero_stage >= 3;
  // The first unit has nothing to hide under: one part in some thirty.
  const auto seen = [&](Seconds comm, Seconds work, double share) {
    return Seen(comm, work * share, 0.03, units.taken);
  };
  if (gathers) {
    const double share = policy.overlap.param_gather ? c.zero3_overlap : 0;
    exposed.gather = seen(units.gather * times, forward, share);
    if (!once) exposed.gather += seen(units.gather, backward, share);
  }
  if (policy.zero_stage >= 2 && c.reduce_each_microbatch) {
    const double share = policy.overlap.grad_reduce ? c.grad_overlap : 0;
    const Seconds left = gathers && !once ? Positive(backward - units.gather) : backward;
    exposed.scatter = seen(units.scatter * times, left, share);
  }
  return exposed;
}

// The reduction of gradients at the end of a step, where it does not happen in each micro batch,
// and the gather of updated parameters under ZeRO-1 and 2.
void ReduceAtEnd(const Conventions& c, const StageCost& stage, const Policy& policy,
                 TimeParts& time) {
  if (stage.data_ranks <= 1 && stage.expert_data_ranks <= 1) return;
  const bool node_group = IsNodeGroup(stage, policy);
  const DataTimes& data = node_group ? stage.within_node : stage.everywhere;
  if (!(policy.zero_stage >= 2 && c.reduce_each_microbatch)) {
    const Seconds reduce =
        policy.zero_stage == 0 ? stage.everywhere.all_reduce : data.reduce_scatter;
    At(time, TimePart::kGradientReduce) +=
        policy.overlap.grad_reduce
            ? Seen(reduce, stage.last_backward * c.grad_overlap, 0.05, data.taken)
            : reduce;
  }
  if (policy.zero_stage == 1 || (policy.zero_stage == 2 && !c.fsdp_style)) {
    // Overlapped with the next step's first forward pass.
    At(time, TimePart::kParameterGather) +=
        policy.overlap.param_gather
            ? Seen(data.all_gather, stage.last_backward * 0.45, 0.05, data.taken)
            : data.all_gather;
  } else if (policy.zero_stage == 2) {
    At(time, TimePart::kParameterGather) +=
        Seen(data.all_gather, stage.last_backward * 0.5 * c.zero3_overlap, 0.05, data.taken);
  }
}

void StepOptimizer(const Job& job, const StageCost& stage, const Policy& policy,
                   const StatePerPolicy& state, StepCost& cost) {
  const Conventions& c = job.conventions;
  const Machine& machine = *job.machine;
  const double shard =
      stage.dense_largest * state.dense_shard + stage.expert_largest * state.expert_shard;
  // Read and write masters and moments, read gradients (twice: norm and step), write parameters.
  const double touched = 2 * (c.master_bytes + c.moment_bytes) + 2 * c.gradient_bytes +
                         2 * c.parameter_bytes + 3 * c.optimizer_temporary_bytes;
  if (state.optimizer_on_gpu) {
    At(cost.time, TimePart::kOptimizer) += StreamTime(machine.gpu, Bytes{touched * shard}, 0.85);
    if (PagesMoments(job)) cost.host += Bytes{c.moment_bytes * shard * machine.gpus_per_node};
    return;
  }
  // Gradients down, parameters up over the host link; the CPU touches 28 bytes a parameter
  // (ZeRO-Offload, arXiv 2101.06840).
  const double ranks = machine.gpus_per_node;
  const Seconds link = Bytes{(c.gradient_bytes + c.gather_bytes) * shard} / machine.host.gpu_link;
  const Seconds adam = Bytes{28 * shard * ranks} / machine.host.memory_bandwidth;
  Seconds offload = link + adam;
  const double state_bytes = (4 + c.moment_bytes + 4) * shard * ranks;
  if (policy.offload_to == OffloadTo::kNvme) {
    cost.nvme = {state_bytes};
    if (machine.host.nvme_read.value > 0)
      offload += cost.nvme / machine.host.nvme_read + cost.nvme / machine.host.nvme_write;
    cost.host += Bytes{0.25 * state_bytes};
  } else {
    cost.host += Bytes{state_bytes};
  }
  if (policy.offload == Offload::kOptimizerAndParams) {
    cost.host += Bytes{c.gather_bytes * shard * ranks};
    offload += Bytes{c.gather_bytes * shard * 2.0 * stage.microbatches} / machine.host.gpu_link;
  }
  At(cost.time, TimePart::kOffload) += offload;
}
}  // namespace

Seconds StepCost::Time() const {
  Seconds sum;
  for (Seconds part : time) sum += part;
  return sum;
}

Seconds PipelineTime(const StageCost& stage, const Policy& policy, const StageLoad& load,
                     const Seconds extra) {
  const Seconds pass = load.pass.Under(policy.overlap) + extra;
  if (stage.pp == 1) return pass * double(stage.microbatches);
  const StageTimes own{pass * load.forward_share, pass * (1 - load.forward_share)};
  return LeastPipelineTime(stage.schedule, own, load.before.Under(policy.overlap),
                           load.after.Under(policy.overlap), stage.pp - 1 - load.stage, stage.vpp,
                           stage.microbatches);
}

StepCost CostStep(const Job& job, const StageCost& stage, const Policy& policy) {
  const Conventions& c = job.conventions;
  const StatePerPolicy state(job, stage, policy);
  StepCost cost;

  // Time: the stage that decides, its parts, and the rest of the pipeline as bubble.
  const bool shards = policy.zero_stage >= 2;
  const StageLoad* critical = &stage.loads.front();
  Seconds longest{-1};
  Sharded critical_exposed;
  for (const StageLoad& load : stage.loads) {
    const Sharded exposed = shards ? ExposedSharding(c, load, policy, stage) : Sharded{};
    const Seconds length = PipelineTime(stage, policy, load, exposed.gather + exposed.scatter);
    if (length > longest) longest = length, critical = &load, critical_exposed = exposed;
  }
  const double m = stage.microbatches;
  Seconds own;
  for (std::size_t i = 0; i < critical->parts.size(); ++i) {
    const TimePart part = static_cast<TimePart>(i);
    const double seen = part == TimePart::kTensorComm && policy.overlap.tp ? PassTime::kTensorSeen
                        : part == TimePart::kExpertComm && policy.overlap.moe
                            ? PassTime::kExpertSeen
                            : 1.0;
    cost.time[i] = critical->parts[i] * (m * seen);
    own += cost.time[i];
  }
  At(cost.time, TimePart::kParameterGather) += critical_exposed.gather * m;
  At(cost.time, TimePart::kGradientReduce) += critical_exposed.scatter * m;
  own += (critical_exposed.gather + critical_exposed.scatter) * m;
  At(cost.time, TimePart::kPipelineBubble) = stage.pp > 1 ? Positive(longest - own) : Seconds{};
  if (stage.pp > 1) {
    // Transfers are seen while the pipeline fills and drains, and once each way per micro batch and
    // chunk: in full where the schedule waits for them, a tenth of them where they run beside other
    // chunks.
    const bool hidden = policy.overlap.p2p && stage.vpp > 1;
    const double each = hidden ? 0.2 : c.blocking_p2p ? 4 : 2;
    At(cost.time, TimePart::kPipelineComm) =
        stage.p2p * (2.0 * (stage.pp - 1)) + stage.p2p_slowest * (each * m * stage.vpp);
  }
  ReduceAtEnd(c, stage, policy, cost.time);
  StepOptimizer(job, stage, policy, state, cost);
  At(cost.time, TimePart::kFixed) = {c.fixed_step_seconds};

  // Memory: the most over stages and instants.
  for (std::size_t l = 0; l < stage.loads.size(); ++l) {
    const StageLoad& load = stage.loads[l];
    const LoadState bytes_of(job, state, load);
    for (int i = 0; i < load.instants; ++i) {
      const Bytes bytes = bytes_of.Allocated(load.instant[static_cast<std::size_t>(i)]);
      if (bytes > cost.allocated)
        cost.allocated = bytes, cost.peak_load = static_cast<int>(l), cost.peak_instant = i;
    }
  }
  if (policy.offload == Offload::kActivations) {
    const Bytes moved = stage.loads.front().instant[0].activations * 0.875;
    cost.host += moved * double(job.machine->gpus_per_node);
    // Each micro batch's go down and up once.
    const double in_flight = InFlight(stage.schedule, 0, stage.pp, stage.vpp, stage.microbatches);
    const Seconds link = moved * (2.0 * m / in_flight) / job.machine->host.gpu_link;
    At(cost.time, TimePart::kOffload) += Max(link * 0.1, link - longest * 0.8);
  }
  const Bytes outside = Bytes{c.context_bytes} + stage.nccl.Sum();
  // What the allocator adds only its replay tells: here, nothing.
  cost.device = cost.unavoidable = cost.allocated + outside;
  return cost;
}

std::array<MemoryLimit, 3> LimitsOf(const Job& job, const StepCost& step) {
  const Host& host = job.machine->host;
  // Where nobody says how much memory a host has, it is no limit.
  const Bytes of_host = host.memory.value > 0 ? host.memory : step.host;
  return {{{"memory", step.unavoidable, job.machine->gpu.memory - job.memory_reserve},
           {"host", step.host, of_host},
           {"nvme", step.nvme, host.nvme}}};
}

StepCost Bound(const Job& job, const Plan& plan) {
  const LayersCost layers = CostLayers(job, plan.sharding);
  return CostStep(job, CostStage(job, layers, plan.sharding, plan.placement), plan.policy);
}
}  // namespace shardplan
