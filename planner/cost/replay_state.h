// SPDX-License-Identifier: Apache-2.0
// The state of one stage in the allocator's replay: parameters, gathered copies, gradients,
// optimizer.
//
// A unit is what is gathered and reduced at once: a layer, or the root (embedding and head). Which
// copies exist, how long and on which stream is the framework's affair: it is read from Conventions
// and StatePerPolicy, as LoadState does. Private to planner/cost.
#pragma once
#include <deque>
#include <vector>

#include "planner/cost/arena.h"
#include "planner/cost/stage_tape.h"
#include "planner/cost/step_parts.h"

namespace shardplan {

class ReplayState {
 public:
  // REQUIRES: all outlive it; `units` are the stage's blocks in the order of the model.
  ReplayState(const Job& job, const StatePerPolicy& state, const StageLoad& load, int pp,
              const std::vector<StageTape::Layer>& units, Labels& labels, Arena& arena);

  // What exists before the first step.
  void Build();

  // Parameters of a unit are there from Gather to Leave. `next` is fetched beside it; -1: none.
  void Gather(int unit, int next);
  void Leave(int unit, bool backward);

  // The gradient of one op's weights, made in the backward pass of `unit`.
  void MakeGradient(int unit, const TapeOp& op);
  // The backward pass of a unit is through: its gradients are reduced or kept.
  void Reduce(int unit);
  // 16-bit copies that autocast makes of an op's matrices, one for each forward pass.
  Held AutocastCopy(const TapeOp& op, int copies);

  void StartBackward();  // buffers that live while gradients are reduced
  void EndBackward();    // of one micro batch: its reductions are done
  void ReduceAll();      // what waited for the last micro batch
  void Optimize();       // moments are born in the first
  void EndStep();

 private:
  struct Unit {
    const BlockTape* tape = nullptr;
    double layers = 1;  // that it stands for
    std::vector<Held> parameters, gathered, making, gradients, unreduced;
    Held flat;        // one gathered buffer for all its parameters
    int readers = 0;  // passes that need it gathered
  };

  double Shard(const TapeOp& op) const {
    return op.dense * state_.dense_shard + op.expert * state_.expert_shard;
  }
  double Shard(const BlockTape& tape) const {
    return tape.dense * state_.dense_shard + tape.expert * state_.expert_shard;
  }
  bool Gathers() const { return state_.parameters_sharded; }
  bool StaysGathered() const { return state_.stage_gathered || keeps_; }
  void Fetch(Unit& unit);
  bool BornInBackward() const { return c_.gradient_life == GradientLife::kFromBackward; }
  // Gradients that are born in the backward pass stay: at all, and unsharded.
  bool KeepsAny() const { return BornInBackward() && !applied_ && state_.gradients_on_gpu(); }
  bool KeepsWhole() const { return KeepsAny() && !state_.gradients_sharded; }
  Held Reduced(const Unit& unit);

  const Job& job_;
  const Conventions& c_;
  const StatePerPolicy& state_;
  const StageLoad& load_;
  const bool keeps_;  // FSDP under a pipeline: gathered and unreduced until the step ends
  const bool applied_;
  Arena& arena_;
  std::vector<Unit> units_;
  std::vector<Held> buffers_, moments_, backward_buffers_, dummies_;
  std::deque<int> live_;  // DeepSpeed's live parameters, oldest first
  double live_bytes_ = 0;
  const BlockTape* dummy_block_ = nullptr;
  Held reducing_;
  bool stepped_ = false;
  Labels::Id workspaces_, buckets_, gathered_, copies_, main_gradients_, temporaries_,
      reduce_input_, dummy_;
};
}  // namespace shardplan
