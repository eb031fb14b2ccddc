// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace shardplan {
namespace {

class Peaks {
 public:
  Peaks(const Job& job, const StageCost& stage, const Plan& plan, const StepCost& step,
        std::vector<StageMemory>& stages)
      : job_(job),
        c_(job.conventions),
        training_(*job.training),
        stage_(stage),
        plan_(plan),
        step_(step),
        state_(job, stage, plan.policy),
        stages_(stages) {}

  std::vector<Peak> All() {
    Loading();
    FirstStep();
    if (training_.max_sample_length > training_.seq_length) LongestSample();
    Evaluation();
    Checkpoint();
    return std::move(peaks_);
  }

 private:
  using AtStage = std::function<Bytes(const StageLoad&)>;

  // `host`: per node, whatever the steady step keeps there included.
  void Add(const char* name, Bytes host, std::string why, const AtStage& allocated) {
    Peak peak{.name = name, .host = host, .why = std::move(why)};
    for (std::size_t i = 0; i < stage_.loads.size(); ++i) {
      const Bytes bytes = allocated(stage_.loads[i]);
      stages_[i].peaks.push_back({name, bytes});
      if (bytes > peak.allocated) peak.allocated = bytes, peak.stage = stage_.loads[i].stage;
    }
    peaks_.push_back(std::move(peak));
  }

  // Ranks of one node that hold different parts of the model, `parts` of them in all.
  double OfNode(double parts) const {
    return std::min(parts, double(std::min(job_.machine->gpus_per_node, job_.machine->Gpus())));
  }
  static double Whole(const StageLoad& load) {
    return load.dense_parameters + load.expert_parameters;
  }

  void Loading() {
    const bool moves = c_.loading == LoadingStyle::kOnDevice && plan_.policy.zero_stage == 1;
    const bool alone = c_.loading == LoadingStyle::kFirstRank ||
                       (c_.loading == LoadingStyle::kEveryRank && state_.parameters_sharded);
    const double copies = alone                                    ? 1
                          : c_.loading == LoadingStyle::kEveryRank ? OfNode(job_.machine->Gpus())
                                                                   : 0;
    const Bytes copy{c_.parameter_bytes * CountParameters(*job_.model).total};
    Add("loading", copy * copies,
        moves   ? "weights are copied into their buffer beside that of the gradients"
        : alone ? "the first rank holds the whole model in host memory and sends it unit by unit"
        : copies > 0
            ? fmt::format("the whole model is read into host memory, {:.0f} times a node", copies)
            : "each rank makes its own weights",
        [&](const StageLoad& load) {
          const double beside = moves   ? (c_.parameter_bytes + c_.gradient_bytes) * Whole(load)
                                : alone ? c_.parameter_bytes * load.largest_unit
                                        : 0;
          return LoadState(job_, state_, load).Weights() + Bytes{beside};
        });
  }

  void FirstStep() {
    if (c_.moment_bytes <= 0) return;
    Add("first optimizer step", step_.host,
        state_.optimizer_on_gpu && !PagesMoments(job_)
            ? "moments are born beside the gradients, among what activations left cached"
            : "moments are born in host memory",
        [&](const StageLoad& load) {
          const LoadState bytes_of(job_, state_, load);
          return bytes_of.Allocated(load.instant[static_cast<std::size_t>(load.instants - 1)]);
        });
  }

  void LongestSample() {
    Training longest = training_;
    longest.seq_length = training_.max_sample_length;
    const Job job = MakeJob(*job_.model, *job_.machine, longest, job_.memory_reserve);
    const StageCost stage = CostStage(job, CostLayers(job, plan_.sharding), plan_.sharding,
                                      plan_.placement, /*every_stage=*/true);
    Add("longest sample", step_.host,
        fmt::format("all that is in flight is {} tokens long", longest.seq_length),
        [&](const StageLoad& load) {
          const StageLoad& own = stage.loads[static_cast<std::size_t>(load.stage)];
          const LoadState bytes_of(job, state_, own);
          Bytes most;
          for (int i = 0; i < own.instants; ++i)
            most = Max(most, bytes_of.Allocated(own.instant[static_cast<std::size_t>(i)]));
          return most;
        });
  }

  void Evaluation() {
    const int sequences =
        training_.eval_batch_size > 0 ? training_.eval_batch_size : plan_.sharding.micro_batch_size;
    Add("evaluation", step_.host,
        fmt::format("{} sequence{} forward{}", sequences, sequences > 1 ? "s" : "",
                    training_.eval_batch_size > 0 ? "" : "; train.eval_batch_size says how many"),
        [&](const StageLoad& load) {
          return LoadState(job_, state_, load).Allocated(load.evaluation);
        });
  }

  void Checkpoint() {
    const double width = c_.parameter_bytes + c_.master_bytes + c_.moment_bytes;
    const auto standing = [&](const StageLoad& load) {
      return LoadState(job_, state_, load).Standing();
    };
    double dense = 0, expert = 0;
    for (const StageLoad& load : stage_.loads) {
      dense = std::max(dense, load.dense_parameters);
      expert = std::max(expert, load.expert_parameters);
    }
    // What several ranks hold alike is saved by one of them.
    const double shards = (dense / stage_.data_ranks + expert / stage_.expert_data_ranks) *
                          OfNode(job_.machine->Gpus());
    const Sharding& s = plan_.sharding;
    const double stages = plan_.placement.pp;
    switch (training_.checkpoint) {
      case CheckpointStyle::kSharded:
        return Add("checkpoint", step_.host + Bytes{c_.saves_through_host ? width * shards : 0},
                   c_.saves_through_host ? "each rank copies its shard to host memory and writes it"
                                         : "each rank writes its shard, tensor by tensor",
                   standing);
      case CheckpointStyle::kAsync:
        return Add("checkpoint", step_.host + Bytes{width * shards},
                   "each rank's shard stays in pinned host memory until it is written", standing);
      case CheckpointStyle::kFull: {
        const double held = dense * OfNode(s.tp * stages) + expert * OfNode(s.ep * s.etp * stages);
        // Offloaded states are in host memory already.
        const double copied = state_.optimizer_on_gpu ? width : c_.parameter_bytes;
        return Add("checkpoint", step_.host + Bytes{copied * held},
                   "what is saved is gathered whole in the host memory of the ranks that write",
                   [&](const StageLoad& load) {
                     const double unit = std::max(c_.parameter_bytes, c_.moment_bytes);
                     const bool gathers = state_.parameters_sharded && stage_.data_ranks > 1;
                     return standing(load) + Bytes{gathers ? unit * load.largest_unit : 0};
                   });
      }
    }
  }

  const Job& job_;
  const Conventions& c_;
  const Training& training_;
  const StageCost& stage_;
  const Plan& plan_;
  const StepCost& step_;
  const StatePerPolicy state_;
  std::vector<StageMemory>& stages_;
  std::vector<Peak> peaks_;
};
}  // namespace

std::vector<Peak> PeaksOutside(const Job& job, const StageCost& stage, const Plan& plan,
                               const StepCost& step, std::vector<StageMemory>& stages) {
  return Peaks(job, stage, plan, step, stages).All();
}
}  // namespace shardplan
