// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/replay_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardplan {
namespace {

// Streams with pools of their own: FSDP gathers and reduces beside the computation.
constexpr int kGatherStream = 1, kReduceStream = 2;

// DistributedDataParallel's bucket_cap_mb.
constexpr double kBucket = 25 << 20;
constexpr double kMostBuckets = 128;  // walked; where there are more they are larger

bool HasTwoMoments(Optimizer optimizer) {
  return optimizer == Optimizer::kAdam || optimizer == Optimizer::kAdamW ||
         optimizer == Optimizer::kLamb || optimizer == Optimizer::kAdamW8bit;
}
}  // namespace

ReplayState::ReplayState(const Job& job, const StatePerPolicy& state, const StageLoad& load, int pp,
                         const std::vector<StageTape::Layer>& units, Labels& labels, Arena& arena)
    : job_(job),
      c_(job.conventions),
      state_(state),
      load_(load),
      keeps_(state.parameters_sharded && c_.fsdp_style && pp > 1),
      applied_(job.training->optimizer_in_backward),
      arena_(arena) {
  for (const StageTape::Layer& unit : units) {
    const BlockTape* tape = unit.tape;
    units_.emplace_back().tape = tape;
    units_.back().layers = unit.layers;
    const auto weights = [](const BlockTape& t) {
      double sum = 0;
      for (const TapeOp& op : t.ops) sum += op.dense_weights;
      return sum;
    };
    const bool layer = tape->ops.size() > 3;  // Transformer Engine's modules, not the root
    if (layer && (dummy_block_ == nullptr || weights(*tape) > weights(*dummy_block_)))
      dummy_block_ = tape;
  }
  workspaces_ = labels.Of(MemoryPart::kWorkspace, "cuBLAS", "workspaces");
  buckets_ = labels.Of(MemoryPart::kBuckets, "gradients", "reduction buckets");
  gathered_ = labels.Of(MemoryPart::kGathered, "parameters", "gathered for a unit");
  copies_ = labels.Of(MemoryPart::kParameters, "autocast", "16-bit copies of weights");
  main_gradients_ = labels.Of(MemoryPart::kGradients, "gradients", "buffer of the whole stage");
  temporaries_ = labels.Of(MemoryPart::kTemporaries, "optimizer", "temporaries of a step");
  reduce_input_ = labels.Of(MemoryPart::kBuckets, "gradients", "input of a unit's reduction");
  dummy_ = labels.Of(MemoryPart::kActivations, "Transformer Engine", "dummy weight gradients");
}

void ReplayState::Build() {
  buffers_.push_back(
      arena_.Hold({c_.blas_workspaces * BlasWorkspaces(job_.machine->gpu).value, workspaces_}));
  double dense = 0, expert = 0;
  for (Unit& unit : units_) {
    dense += unit.tape->dense * unit.layers;
    expert += unit.tape->expert * unit.layers;
    for (const TapeOp& op : unit.tape->ops) {
      const double all = op.dense + op.expert, held = state_.parameters_sharded ? Shard(op) : all;
      if (!state_.parameters_on_gpu || all <= 0) continue;
      const double narrow = QuantizedBytes(job_) * op.quantized * held / all * unit.layers;
      unit.parameters.push_back(arena_.Hold(
          {c_.parameter_bytes * held * unit.layers + std::min(narrow, 0.0), op.weight}));
      buffers_.push_back(arena_.Hold({narrow, op.weight}));
    }
  }
  const double whole = dense + expert;
  if (!BornInBackward() && state_.gradients_on_gpu()) {
    const double share = state_.gradients_sharded ? state_.dense_shard : 1,
                 expert_share = state_.gradients_sharded ? state_.expert_shard : 1;
    buffers_.push_back(arena_.Hold({c_.gradient_bytes * dense * share, main_gradients_}));
    buffers_.push_back(arena_.Hold({c_.gradient_bytes * expert * expert_share, main_gradients_}));
  }
  if (const double copy = c_.bucket_copy_bytes * whole; copy > 0) {
    const double count = std::min(kMostBuckets, std::ceil(copy / kBucket));
    for (int i = 0; i < static_cast<int>(count); ++i)
      buffers_.push_back(arena_.Hold({copy / count, buckets_}));
  }
  if (c_.master_bytes > 0 && state_.optimizer_on_gpu)
    for (const Unit& unit : units_)
      for (const TapeOp& op : unit.tape->ops)
        moments_.push_back(arena_.Hold({c_.master_bytes * Shard(op) * unit.layers, op.state}));
}

// The flat buffer of a gather, on the stream of gathers under FSDP, from the unit's own shard.
void ReplayState::Fetch(Unit& unit) {
  if (!unit.flat.empty || !unit.gathered.empty()) return;
  const int stream = c_.fsdp_style ? kGatherStream : 0;
  Held shard;
  if (c_.fsdp_style) shard = arena_.Hold({c_.gather_bytes * Shard(*unit.tape), gathered_}, stream);
  const double layers = c_.max_live_parameters > 0 ? unit.layers : 1;
  unit.flat = arena_.Hold(
      {c_.gather_bytes * (unit.tape->dense + unit.tape->expert) * layers, gathered_}, stream);
  arena_.Drop(shard);
}

void ReplayState::Gather(int index, int next) {
  if (!Gathers()) return;
  Unit& unit = units_[static_cast<std::size_t>(index)];
  if (unit.readers++ > 0 || !unit.gathered.empty()) return;
  Fetch(unit);
  if (c_.fsdp_style) {
    const double layers = StaysGathered() ? unit.layers : 1;
    for (const TapeOp& op : unit.tape->ops)
      unit.gathered.push_back(
          arena_.Hold({c_.gather_bytes * (op.dense + op.expert) * layers, gathered_}));
    arena_.Drop(unit.flat);
  } else {
    unit.gathered.push_back(std::exchange(unit.flat, Held{}));
  }
  if (next >= 0 && !StaysGathered()) Fetch(units_[static_cast<std::size_t>(next)]);
}

void ReplayState::Leave(int index, bool backward) {
  if (!Gathers()) return;
  Unit& unit = units_[static_cast<std::size_t>(index)];
  if (--unit.readers > 0 || keeps_ || (state_.stage_gathered && !backward)) return;
  if (c_.max_live_parameters <= 0) {
    arena_.Drop(unit.gathered);
    return;
  }
  // DeepSpeed releases the oldest parameters when more than the limit are live.
  const auto size = [&](int i) {
    const Unit& live = units_[static_cast<std::size_t>(i)];
    return (live.tape->dense + live.tape->expert) * live.layers;
  };
  if (std::find(live_.begin(), live_.end(), index) == live_.end()) {
    live_.push_back(index);
    live_bytes_ += size(index);
  }
  while (!live_.empty() && live_bytes_ + size(index) > c_.max_live_parameters) {
    const int oldest = live_.front();
    live_.pop_front();
    live_bytes_ -= size(oldest);
    arena_.Drop(units_[static_cast<std::size_t>(oldest)].gathered);
  }
}

Held ReplayState::AutocastCopy(const TapeOp& op, int copies) {
  return arena_.Hold({c_.autocast_copy_bytes * op.dense_weights * copies, copies_});
}

void ReplayState::StartBackward() {
  if (!backward_buffers_.empty() || state_.fixed <= 0) return;
  const double bytes =
      std::min(state_.fixed, 4 * (load_.dense_parameters + load_.expert_parameters));
  for (int i = 0; i < 2; ++i) backward_buffers_.push_back(arena_.Hold({bytes / 2, buckets_}));
}

void ReplayState::MakeGradient(int index, const TapeOp& op) {
  if (op.dense + op.expert <= 0 || !(BornInBackward() || state_.parameters_sharded)) return;
  Unit& unit = units_[static_cast<std::size_t>(index)];
  const double width = state_.parameters_sharded ? c_.gather_bytes : c_.gradient_bytes;
  const double layers = KeepsWhole() && unit.gradients.empty() ? unit.layers : 1;
  unit.making.push_back(arena_.Hold({width * (op.dense + op.expert) * layers, op.weight_gradient}));
}

void ReplayState::Reduce(int index) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  const BlockTape& tape = *unit.tape;
  const double whole = tape.dense + tape.expert;
  const bool first = unit.gradients.empty();
  if (c_.dummy_weight_gradients && &tape == dummy_block_ && dummies_.empty())
    for (const TapeOp& op : tape.ops)
      dummies_.push_back(arena_.Hold({2 * op.dense_weights, dummy_}));
  if (KeepsWhole() && first) {
    unit.gradients = std::exchange(unit.making, {});
    return;
  }
  if (keeps_ && unit.unreduced.empty() && !applied_ && BornInBackward())
    unit.unreduced.push_back(
        arena_.Hold({c_.wire_gradient_bytes * whole * unit.layers, reduce_input_}));
  if (state_.parameters_sharded && !keeps_) {
    arena_.Drop(reducing_);
    reducing_ = arena_.Hold({c_.wire_gradient_bytes * whole, reduce_input_});
  }
  arena_.Drop(unit.making);
  if (keeps_ || KeepsWhole() || !KeepsAny()) return;
  Held shard = Reduced(unit);
  if (first)
    unit.gradients.push_back(shard);
  else
    arena_.Drop(shard);  // added to what is there
}

Held ReplayState::Reduced(const Unit& unit) {
  return arena_.Hold(
      {c_.gradient_bytes * Shard(*unit.tape) * unit.layers, unit.tape->ops.front().weight_gradient},
      c_.fsdp_style ? kReduceStream : 0);
}

void ReplayState::EndBackward() { arena_.Drop(reducing_); }

void ReplayState::ReduceAll() {
  for (Unit& unit : units_) {
    if (!unit.unreduced.empty() && KeepsAny()) unit.gradients.push_back(Reduced(unit));
    arena_.Drop(unit.unreduced);
    arena_.Drop(unit.gathered);
    arena_.Drop(unit.flat);
    unit.readers = 0;
  }
  live_.clear();
  live_bytes_ = 0;
}

void ReplayState::Optimize() {
  arena_.Drop(backward_buffers_);
  if (!state_.optimizer_on_gpu) return;
  const bool two = HasTwoMoments(job_.training->optimizer);
  const bool one_by_one = applied_ || c_.updates_one_by_one;
  std::vector<Held> temporaries;
  for (const Unit& unit : units_)
    for (const TapeOp& op : unit.tape->ops) {
      const double shard = Shard(op) * unit.layers;
      if (!stepped_ && !PagesMoments(job_))
        for (int i = 0; i < (two ? 2 : 1); ++i)
          moments_.push_back(arena_.Hold({c_.moment_bytes / (two ? 2 : 1) * shard, op.state}));
      const double temporary = c_.optimizer_temporary_bytes + c_.sharded_fp32_gradient_bytes;
      temporaries.push_back(
          arena_.Hold({temporary * shard / (one_by_one ? unit.layers : 1), temporaries_}));
      if (one_by_one) arena_.Drop(temporaries);
    }
  arena_.Drop(temporaries);
  stepped_ = true;
}

void ReplayState::EndStep() {
  for (Unit& unit : units_) arena_.Drop(unit.gradients);
}
}  // namespace shardplan
