// SPDX-License-Identifier: Apache-2.0
// The cost model: memory and time of a plan as three pure functions, called as choices are bound.
//
//   LayersCost CostLayers(job, sharding)                    walks the graph; the only expensive
//   call StageCost  CostStage (job, layers, sharding, placement) layers on stages, times, memory
//   instants StepCost   CostStep  (job, stage, policy)               a sum of named times, a max
//   over instants
//
// Bound composes them and is never above Evaluate, which adds what does not factor (every stage,
// the pipeline's event simulation, the allocator). planner/README.md numbers the equations.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "planner/base/quantity.h"
#include "planner/framework/framework.h"
#include "planner/machine/collective.h"
#include "planner/machine/machine.h"
#include "planner/model/graph.h"
#include "planner/plan/plan.h"

namespace shardplan {

// What is planned: everything that all plans of one spec share.
// REQUIRES: model, machine and training outlive the job.
struct Job {
  const Model* model = nullptr;
  const Machine* machine = nullptr;
  const Training* training = nullptr;
  const Framework* framework = nullptr;
  Conventions conventions;
  Bytes memory_reserve;
};
Job MakeJob(const Model& model, const Machine& machine, const Training& training,
            Bytes memory_reserve);

// Parts of memory, by what takes it. They add up to the allocated bytes of an instant.
enum class MemoryPart : std::uint8_t {
  kParameters,
  kGradients,
  kOptimizerStates,
  kActivations,
  kWorkspace /* one layer's backward, recomputation */,
  kLogits,
  kGathered /* ZeRO-3's unsharded units */,
  kBuckets /* reduction buffers */,
  kTemporaries /* optimizer step */,
  kCount,
};
const char* Name(MemoryPart part);
inline constexpr int kMemoryParts = static_cast<int>(MemoryPart::kCount);
using MemoryParts = std::array<Bytes, kMemoryParts>;

// Parts of a step's time. They add up to the step.
enum class TimePart : std::uint8_t {
  kCompute,
  kRecompute,
  kHost /* launch-bound waiting */,
  kTensorComm,
  kContextComm,
  kExpertComm,
  kPipelineBubble,
  kPipelineComm,
  kParameterGather,
  kGradientReduce,
  kOptimizer,
  kOffload,
  kFixed,
  kCount,
};
const char* Name(TimePart part);
inline constexpr int kTimeParts = static_cast<int>(TimePart::kCount);
using TimeParts = std::array<Seconds, kTimeParts>;

// Groups of ranks with a communicator of their own, by what they share.
enum class CommGroup : std::uint8_t { kTensor, kContext, kExpert, kData, kPipeline, kCount };
const char* Name(CommGroup group);
inline constexpr int kCommGroups = static_cast<int>(CommGroup::kCount);
// Device memory that one rank gives to each.
struct CommunicatorBytes : std::array<Bytes, kCommGroups> {
  Bytes& Of(CommGroup group) { return (*this)[static_cast<std::size_t>(group)]; }
  Bytes Sum() const {
    Bytes sum;
    for (const Bytes bytes : *this) sum += bytes;
    return sum;
  }
};

// One block under a sharding: one micro batch on one rank.
struct BlockCost {
  Seconds forward, backward, recompute;  // on the GPU, launch-bound waiting left out
  Seconds host;                          // what launching adds where the GPU waits for the host
  Seconds tensor_comm, context_comm, expert_comm;  // exposed, forward + backward + recomputation
  double dense_parameters = 0, expert_parameters = 0;  // on this rank, before ZeRO
  Bytes saved;                                         // kept from forward to backward
  Bytes workspace;                                     // besides, while this block's backward runs
  Bytes saved_whole;                                   // what it would keep without recomputation
  double flops = 0;              // executed, forward + backward + recomputation
  double dense_weights = 0;      // of dense_parameters, in matrix products
  double largest_weight = 0;     // parameters of the largest tensor
  double quantized_weights = 0;  // in the products that run in 8 or 4 bits where the precision says
  Seconds Pass() const {
    return forward + backward + recompute + host + tensor_comm + context_comm + expert_comm;
  }
};

struct LayersCost {
  std::vector<BlockCost> blocks;      // as Model::blocks
  std::vector<BlockCost> recomputed;  // the same in full recomputation, where only some layers are
  BlockCost embedding, head;
  std::vector<BlockCost> mtp;  // as Model::mtp
  Bytes logits_forward, logits_backward, logits_kept;
  Bytes boundary;          // activation sent between stages, per rank
  double tokens = 0;       // of one micro batch on one rank (after cp)
  CommunicatorBytes nccl;  // of the groups that the sharding decides
  Communicator tensor;     // the tensor-parallel group, for transfers split over it
};

// A moment at which memory may peak. Linear in what a policy changes.
struct Instant {
  const char* name = "";
  Bytes activations, workspace, logits;
  double gradients = 0;  // share of the stage's gradients alive, where they are born in backward
  double unreduced = 0;  // under ZeRO-2/3, of that: not yet reduced, in `reducing` instead
  Bytes gathered;        // under ZeRO-3: unsharded units
  Bytes reducing;        // under ZeRO-2/3: reduction inputs
  bool autocast_copies = false;
  double updated = 0;  // in the optimizer's step: share of the parameters updated at once
};

inline constexpr int kMaxInstants = 8;

// The time of one micro batch on a stage, split by what a policy's overlap can change.
struct PassTime {
  Seconds plain, tensor, expert;
  // Overlapped tensor-parallel products and expert exchanges leave this much in sight.
  static constexpr double kTensorSeen = 0.65, kExpertSeen = 0.25;
  Seconds Under(const Overlap& overlap) const {
    return plain + tensor * (overlap.tp ? kTensorSeen : 1.0) +
           expert * (overlap.moe ? kExpertSeen : 1.0);
  }
  PassTime& operator+=(const PassTime& o) {
    plain += o.plain, tensor += o.tensor, expert += o.expert;
    return *this;
  }
};

// ZeRO-3's traffic of one stage, unit by unit: one pass's parameter gathers, one micro batch's
// reductions.
struct UnitTimes {
  Seconds gather, scatter;
  double taken = 0;  // of the work that hides them
};

// What one stage holds and how long one micro batch takes on it, all virtual chunks together.
struct StageLoad {
  int stage = 0;
  double dense_parameters = 0, expert_parameters = 0;
  double autocast_weights = 0;        // matrices that autocast copies
  double quantized_weights = 0;       // matrices of products in 8 or 4 bits
  PassTime pass;                      // forward + backward + recomputation
  double forward_share = 1.0 / 3;     // of it that is forward
  PassTime before, after;             // the same, summed over earlier and later stages
  TimeParts parts{};                  // `pass` by cause
  double flops = 0;                   // executed in one micro batch, attention in full
  UnitTimes everywhere, within_node;  // ZeRO-3's, sharded over all data ranks or one node's
  int instants = 0;
  std::array<Instant, kMaxInstants> instant;
  Instant evaluation;       // outside the step: a forward pass alone
  double largest_unit = 0;  // parameters of the largest block, or of embedding and head
};

// Traffic of the fullest stage's gradients and parameters over the ranks that share them, once a
// step.
struct DataTimes {
  Seconds all_reduce, reduce_scatter, all_gather;
  Seconds replicas;  // of it, between groups that each hold all shards
  double taken = 0;  // of the work that hides them
};

// Share of the work beside a hidden collective that it costs: the multiprocessors which its
// channels hold, and as much again for waves of tiles that no longer fit and memory traffic.
// (Eq. 21)
double TakenBy(const Gpu& gpu, const Communicator& group, Collective op, Bytes bytes);

struct StageCost {
  std::vector<StageLoad> loads;  // first, a middle one, last; every stage in Evaluate
  int pp = 1, vpp = 1, microbatches = 1;
  Schedule schedule = Schedule::k1F1B;
  int data_ranks = 1, expert_data_ranks = 1;  // that hold the same dense, resp. expert parameters
  double dense_largest = 0, expert_largest = 0;  // parameters of the fullest stage
  Seconds last_backward;     // of the fullest stage, one micro batch: what hides a reduction
  Seconds p2p, p2p_slowest;  // one transfer between stages, and between the farthest neighbours
  DataTimes everywhere, within_node;  // sharded over all data ranks, resp. over those of one node
  CommunicatorBytes nccl;
};

struct StepCost {
  TimeParts time{};
  Bytes allocated;  // the most over stages and instants
  // With the context and NCCL; in Evaluate also with what the allocator holds on top.
  Bytes device;
  // What decides oom: device less the segments that pressure gives back; in Evaluate the most that
  // any moment of the job needs, like `host`.
  Bytes unavoidable;
  Bytes host;  // per node
  Bytes nvme;  // per node
  int peak_load = 0, peak_instant = 0;
  Seconds Time() const;
};

LayersCost CostLayers(const Job& job, const Sharding& sharding);
// `every_stage`: loads for all stages, not only the first, the slowest in the middle and the last.
StageCost CostStage(const Job& job, const LayersCost& layers, const Sharding& sharding,
                    const Placement& placement, bool every_stage = false);
StepCost CostStep(const Job& job, const StageCost& stage, const Policy& policy);
StepCost Bound(const Job& job, const Plan& plan);

enum class Verdict : std::uint8_t { kFits, kTight, kOom, kIllegal };
const char* Name(Verdict verdict);

// What one kind of tensor takes, summed over layers and micro batches.
struct Contributor {
  MemoryPart part = MemoryPart::kActivations;
  std::string op, what;
  Bytes bytes;
};

struct StageMemory {
  int stage = 0;
  Bytes allocated;
  const char* instant = "";
  MemoryParts parts{};
  struct Alive {
    const char* instant = "";
    Bytes allocated;
  };
  std::vector<Alive> instants;  // in the order of the step
  std::vector<Alive> peaks;     // outside it, as Evaluation::peaks
  // From the allocator's replay, where the stage was replayed (cost/replay.h).
  Bytes reserved, pinned;
  std::vector<Contributor> at_peak;  // the largest first
  struct Point {
    std::string when;
    Bytes allocated, reserved;  // the most since the point before
  };
  std::vector<Point> series;  // in the order of the step
};

// A moment outside the steady step at which a job may run out of memory.
struct Peak {
  const char* name = "";  // "loading", "first optimizer step", "longest sample", ...
  int stage = 0;          // the fullest then
  Bytes allocated;        // of a GPU of that stage
  Bytes host;             // per node
  std::string why;        // what decides it
};

// What is shown of a plan: in plan, check, explain and the server, to the bit.
struct Evaluation {
  Plan plan;
  StepCost step;
  Bytes capacity, peak_allocated, peak_reserved, peak_device;
  std::array<Bytes, 2> memory_interval;  // 10-90 % of peak_allocated
  std::array<Seconds, 2> time_interval;  // 10-90 % of the step
  double p_oom = 0;
  int peak_rank = 0;
  std::vector<StageMemory> stages;
  Bytes context;            // outside the allocator: CUDA's context, modules, libraries
  CommunicatorBytes nccl;   // and communicators
  std::vector<Peak> peaks;  // in the order of a run
  Verdict verdict = Verdict::kFits;
  std::string limit;     // why oom or tight: "memory", "host", "nvme"
  std::string limit_at;  // where a peak outside the step decides that: its name
  double tokens_per_second_per_gpu = 0, samples_per_second = 0;
  double model_flops_per_gpu = 0, hardware_flops_per_gpu = 0, mfu = 0;
};
// REQUIRES: the plan is legal (space/rules.h) and complete (dp, microbatches, schedule set).
// Weigh leaves the allocator's replay out: the same time and allocated bytes, and no more reserved
// or unavoidable bytes and no greater chance of running out of memory than Evaluate finds where the
// plan is not oom.
Evaluation Weigh(const Job& job, const Plan& plan);
// The allocator's replay covers the fullest stages, which decide every figure; `every_stage`: all,
// for their series and contributors.
Evaluation Evaluate(const Job& job, const Plan& plan, bool every_stage = false);
}  // namespace shardplan
