// SPDX-License-Identifier: Apache-2.0
// Evaluate: what is shown of a plan. Adds to CostStep every stage's memory and the schedule played
// out.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "planner/cost/cost.h"
#include "planner/cost/kernel_time.h"
#include "planner/cost/peaks.h"
#include "planner/cost/pipeline.h"
#include "planner/cost/replay.h"
#include "planner/cost/step_parts.h"
#include "planner/cost/uncertainty.h"

namespace shardplan {
namespace {

Seconds& At(TimeParts& parts, TimePart part) { return parts[static_cast<std::size_t>(part)]; }

// The bubble that the played-out schedule shows, never less than the closed form's.
void PlayPipeline(const StageCost& stage, const Policy& policy, StepCost& step) {
  // DualPipe sends micro batches from both ends; its closed form is what is known of it.
  if (stage.pp == 1 || stage.schedule == Schedule::kDualPipe) return;
  std::vector<StageTimes> times;
  Seconds slowest;
  for (const StageLoad& load : stage.loads) {
    const Seconds pass = load.pass.Under(policy.overlap);
    times.push_back({pass * load.forward_share, pass * (1 - load.forward_share)});
    slowest = Max(slowest, pass);
  }
  const Seconds length =
      SimulatePipeline(stage.schedule, times, Seconds{}, stage.vpp, stage.microbatches);
  Seconds& bubble = At(step.time, TimePart::kPipelineBubble);
  bubble = Max(bubble, length - slowest * double(stage.microbatches));
}

StageMemory MemoryOf(const Job& job, const StatePerPolicy& state, const StageLoad& load) {
  const LoadState bytes_of(job, state, load);
  StageMemory memory;
  memory.stage = load.stage;
  const Instant* peak = &load.instant[0];
  for (int i = 0; i < load.instants; ++i) {
    const Instant& instant = load.instant[static_cast<std::size_t>(i)];
    const Bytes bytes = bytes_of.Allocated(instant);
    memory.instants.push_back({instant.name, bytes});
    if (bytes > memory.allocated) memory.allocated = bytes, peak = &instant;
  }
  memory.instant = peak->name;
  memory.parts = bytes_of.Parts(*peak);
  return memory;
}

// Which tensor lands in which gap hangs on an order that no two runs share to the last allocation:
// of the fragmentation that the replay finds, runs on an H200 had 0.6 to 2.2 times as much. Half of
// it is taken for certain.
constexpr double kCertain = 0.5;

// Stages that may reserve most: the fullest, and the next one where it is as good as full.
std::vector<std::size_t> Fullest(const std::vector<StageMemory>& stages) {
  std::vector<std::size_t> order(stages.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return stages[a].allocated > stages[b].allocated;
  });
  constexpr double kClose = 0.95;
  const bool two =
      order.size() > 1 && stages[order[1]].allocated > stages[order[0]].allocated * kClose;
  order.resize(two ? 2 : 1);
  return order;
}

// What the allocator holds, in proportion to what is allocated. (Eq. 19)
void AddReplay(const Conventions& c, StageReplay replay, StageMemory& memory) {
  const auto share = [&](Bytes bytes) { return std::max(1.0, bytes / replay.allocated); };
  memory.reserved = memory.allocated * std::max(1 + c.least_fragmentation, share(replay.reserved));
  memory.pinned = memory.allocated * share(replay.pinned);
  memory.series = std::move(replay.series);
  memory.at_peak = std::move(replay.at_peak);
}

void Throughput(const Job& job, const StageCost& stage, Evaluation& e) {
  const Training& training = *job.training;
  const double gpus = job.machine->Gpus(), step = e.step.Time().value;
  e.samples_per_second = double(training.global_batch_size) / step;
  e.tokens_per_second_per_gpu = e.samples_per_second * training.seq_length / gpus;
  e.model_flops_per_gpu =
      ModelFlopsPerToken(*job.model, training.seq_length) * e.tokens_per_second_per_gpu;
  double flops = 0;
  for (const StageLoad& load : stage.loads) flops += load.flops;
  e.hardware_flops_per_gpu = flops / double(stage.loads.size()) * stage.microbatches / step;
  const Number number =
      training.precision == Precision::kFp32   ? Number::kFp32
      : training.precision == Precision::kTf32 ? Number::kTf32
      : training.precision == Precision::kFp16Mixed || training.precision == Precision::kFp16True
          ? Number::kFp16
          : Number::kBf16;
  e.mfu = e.model_flops_per_gpu / PeakOf(job.machine->gpu, number).value;
}

// Which moment of the job needs most decides whether it fits.
void Judge(const Job& job, double spread, Evaluation& e) {
  const Bytes of_gpu = job.machine->gpu.memory - job.memory_reserve;
  // Half of the fragmentation is taken as certain, give or take that half.
  const Bytes outside = e.peak_device - e.peak_reserved;
  const double half = std::max(0.0, (e.step.unavoidable - outside) / e.peak_allocated - 1);
  e.p_oom = ChanceAbove(e.step.unavoidable, std::hypot(spread, half), of_gpu);
  std::string memory_at, host_at;
  for (const Peak& peak : e.peaks) {
    const Bytes needed = peak.allocated + outside;
    e.p_oom = std::max(e.p_oom, ChanceAbove(needed, spread, of_gpu));
    if (needed > e.step.unavoidable) e.step.unavoidable = needed, memory_at = peak.name;
    if (peak.host > e.step.host) e.step.host = peak.host, host_at = peak.name;
  }
  for (const MemoryLimit& limit : LimitsOf(job, e.step)) {
    if (limit.needed <= limit.available) continue;
    e.verdict = Verdict::kOom;
    e.limit = limit.of;
    e.limit_at = e.limit == "host" ? host_at : e.limit == "memory" ? memory_at : "";
    return;
  }
  const double upper = e.memory_interval[1] / Max(e.peak_allocated, Bytes{1});
  const Bytes at_most = e.step.unavoidable * upper;
  if (Max(e.peak_device, at_most) > of_gpu) {
    e.verdict = Verdict::kTight;
    e.limit = "memory";
    if (e.peak_device <= of_gpu) e.limit_at = memory_at;
  }
}

// A plan on its way to an evaluation.
class Weighed {
 public:
  Weighed(const Job& job, const Plan& plan)
      : job_(job),
        layers_(CostLayers(job, plan.sharding)),
        stage_(CostStage(job, layers_, plan.sharding, plan.placement, /*every_stage=*/true)) {
    e_.plan = plan;
    e_.step = CostStep(job, stage_, plan.policy);
    PlayPipeline(stage_, plan.policy, e_.step);
    outside_ = e_.step.device - e_.step.allocated;
    const StatePerPolicy state(job, stage_, plan.policy);
    for (const StageLoad& load : stage_.loads) e_.stages.push_back(MemoryOf(job, state, load));
    e_.peaks = PeaksOutside(job, stage_, plan, e_.step, e_.stages);
    e_.context = {job.conventions.context_bytes};
    e_.nccl = stage_.nccl;
    e_.capacity = job.machine->gpu.memory;
    e_.peak_allocated = e_.peak_reserved = Peak().allocated;
  }

  void Replay(bool every_stage) {
    for (std::size_t i : Fullest(e_.stages)) {
      ReplayOne(i);
      const StageMemory& memory = e_.stages[i];
      e_.peak_reserved = Max(e_.peak_reserved, memory.reserved);
      const Bytes certain = memory.allocated + (memory.pinned - memory.allocated) * kCertain;
      e_.step.unavoidable = Max(e_.step.unavoidable, certain + outside_);
    }
    for (std::size_t i = 0; every_stage && i < e_.stages.size(); ++i)
      if (e_.stages[i].series.empty()) ReplayOne(i);
  }

  Evaluation Judged() {
    e_.step.device = e_.peak_device = e_.peak_reserved + outside_;
    const StageMemory& peak = Peak();
    e_.peak_rank = peak.stage * std::max(1, job_.machine->Gpus() / e_.plan.placement.pp);
    const double spread = MemorySpread(peak.parts, job_.conventions.doubt);
    e_.memory_interval = Interval(e_.peak_allocated, spread);
    e_.time_interval = Interval(
        e_.step.Time(), TimeSpread(e_.step.time, *job_.machine, job_.conventions.time_deviation));
    Throughput(job_, stage_, e_);
    Judge(job_, spread, e_);
    return std::move(e_);
  }

 private:
  const StageMemory& Peak() const {
    return *std::max_element(
        e_.stages.begin(), e_.stages.end(),
        [](const StageMemory& a, const StageMemory& b) { return a.allocated < b.allocated; });
  }
  void ReplayOne(std::size_t i) {
    AddReplay(job_.conventions, ReplayStage(job_, layers_, stage_, stage_.loads[i], e_.plan),
              e_.stages[i]);
  }

  const Job& job_;
  const LayersCost layers_;
  const StageCost stage_;
  Bytes outside_;  // the allocator
  Evaluation e_;
};
}  // namespace

Job MakeJob(const Model& model, const Machine& machine, const Training& training,
            Bytes memory_reserve) {
  Job job{.model = &model,
          .machine = &machine,
          .training = &training,
          .framework = &FrameworkOf(training.framework),
          .conventions = {},
          .memory_reserve = memory_reserve};
  job.conventions = job.framework->conventions(training, model);
  return job;
}

Evaluation Weigh(const Job& job, const Plan& plan) { return Weighed(job, plan).Judged(); }

Evaluation Evaluate(const Job& job, const Plan& plan, bool every_stage) {
  Weighed weighed(job, plan);
  weighed.Replay(every_stage);
  return weighed.Judged();
}
}  // namespace shardplan
