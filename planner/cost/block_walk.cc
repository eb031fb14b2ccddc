// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/block_walk.h"

namespace shardplan {

Held BlockWalk::Keep(const TapeTensor& tensor, const BlockPass& pass) {
  return arena_.Hold({tensor.bytes * pass.copies, tensor.label});
}

void BlockWalk::Forward(const BlockTape& tape, Held& stream, BlockPass& pass) {
  std::vector<Held> fading, ours;  // what the op before left for this one; what this one leaves
  if (tape.checkpoint.bytes > 0) {
    if (tape.checkpoint.bytes == tape.residual.bytes && !stream.empty && pass.copies == 1)
      pass.input = std::exchange(stream, Held{});
    else
      pass.input = Keep(tape.checkpoint, pass);
  }
  for (std::size_t i = 0; i < tape.ops.size(); ++i) {
    const TapeOp& op = tape.ops[i];
    const int index = static_cast<int>(i);
    Held gathered = arena_.Hold(op.gathered_input);
    if (autocast_ && op.dense_weights > 0)
      pass.weights.emplace_back(index, state_.AutocastCopy(op, pass.copies));
    for (std::size_t t = 0; t < op.kept.size(); ++t) {
      // A norm that keeps its input keeps the stream itself.
      const bool is_stream = t == 0 && op.flow == Flow::kNorm && !stream.empty &&
                             op.kept[t].bytes == tape.residual.bytes && pass.copies == 1;
      pass.kept.emplace_back(index,
                             is_stream ? std::exchange(stream, Held{}) : Keep(op.kept[t], pass));
    }
    for (const TapeTensor& tensor : op.recomputed) ours.push_back(arena_.Hold(tensor));
    ours.push_back(arena_.Hold(op.output));
    arena_.Drop(gathered);
    if (op.flow == Flow::kResidual) {
      const Held sum = arena_.Hold(tape.residual);
      arena_.Drop(stream);
      stream = sum;
    }
    arena_.Drop(fading);
    std::swap(fading, ours);
  }
  arena_.Drop(fading);
}

void BlockWalk::Recompute(const BlockTape& tape, BlockPass& pass) {
  for (std::size_t i = 0; i < tape.ops.size(); ++i)
    for (const TapeTensor& tensor : tape.ops[i].recomputed)
      pass.kept.emplace_back(static_cast<int>(i), arena_.Hold(tensor));
}

void BlockWalk::Offload(BlockPass& pass) {
  for (auto& [op, tensor] : pass.kept) arena_.Drop(tensor);
  pass.kept.clear();
  arena_.Drop(pass.input);
  pass.offloaded = true;
}

void BlockWalk::Fetch(const BlockTape& tape, BlockPass& pass) {
  if (!pass.offloaded) return;
  pass.offloaded = false;
  pass.input = Keep(tape.checkpoint, pass);
  for (std::size_t i = 0; i < tape.ops.size(); ++i)
    for (const TapeTensor& tensor : tape.ops[i].kept)
      pass.kept.emplace_back(static_cast<int>(i), Keep(tensor, pass));
}

void BlockWalk::DropWeights(BlockPass& pass) {
  for (auto& [op, copy] : pass.weights) arena_.Drop(copy);
  pass.weights.clear();
}

Held BlockWalk::TakeLast() {
  if (chain_.empty()) return {};
  const Held last = chain_.back();
  chain_.pop_back();
  return last;
}

void BlockWalk::BackwardOp(const BlockTape& tape, const TapeOp& op, Held& gradient) {
  switch (op.flow) {
    case Flow::kProduct:
    case Flow::kJoined: {
      Held output = TakeLast(), gathered = arena_.Hold(op.gathered_input);
      state_.MakeGradient(unit_, op);
      Held input = op.gradients.empty() ? Held{} : arena_.Hold(op.gradients[0]);
      arena_.Drop(output);
      arena_.Drop(gathered);
      if (!joined_.empty) {
        const Held sum = arena_.Hold(op.gradients[0]);
        arena_.Drop(input);
        arena_.Drop(joined_);
        input = sum;
      }
      if (op.flow == Flow::kJoined)
        joined_ = input;
      else
        chain_.push_back(input), joined_ = {};
      return;
    }
    case Flow::kAttention:
    case Flow::kActivation: {
      Held output = TakeLast(), workspace = arena_.Hold(op.workspace);
      state_.MakeGradient(unit_, op);
      for (const TapeTensor& input : op.gradients) chain_.push_back(arena_.Hold(input));
      arena_.Drop(workspace);
      arena_.Drop(output);
      return;
    }
    case Flow::kNorm: {
      state_.MakeGradient(unit_, op);
      Held input = arena_.Hold(op.gradients[0]);
      arena_.Drop(chain_);
      arena_.Drop(joined_);
      if (!gradient.empty) {
        const Held sum = arena_.Hold(tape.residual);
        arena_.Drop(gradient);
        arena_.Drop(input);
        input = sum;
      }
      gradient = input;
      return;
    }
    case Flow::kGather:
      arena_.Drop(chain_);
      [[fallthrough]];
    case Flow::kScatter:
      chain_.push_back(arena_.Hold(op.gradients[0]));
      return;
    case Flow::kResidual:
    case Flow::kInPlace:
      state_.MakeGradient(unit_, op);
      return;
  }
}

void BlockWalk::ReleaseLast(BlockPass& pass, int index) {
  for (std::size_t i = pass.kept.size(); i-- > 0;)
    if (pass.kept[i].first == index) return arena_.Drop(pass.kept[i].second);
}

void BlockWalk::Backward(const BlockTape& tape, int unit, Held& gradient, BlockPass& pass,
                         Held output) {
  unit_ = unit;
  Recompute(tape, pass);
  if (!output.empty) chain_.push_back(output);
  const auto release = [&](std::vector<std::pair<int, Held>>& held, int index) {
    for (auto& [op, tensor] : held)
      if (op == index) arena_.Drop(tensor);
  };
  for (int i = static_cast<int>(tape.ops.size()) - 1; i >= 0; --i) {
    BackwardOp(tape, tape.ops[static_cast<std::size_t>(i)], gradient);
    release(pass.kept, i);
    release(pass.weights, i);
    // The product that follows an activation kept what that wrote last.
    if (i > 0 && tape.ops[static_cast<std::size_t>(i)].flow == Flow::kProduct &&
        tape.ops[static_cast<std::size_t>(i) - 1].flow == Flow::kActivation)
      ReleaseLast(pass, i - 1);
  }
  arena_.Drop(chain_);
  arena_.Drop(joined_);
  arena_.Drop(pass.input);
  pass.kept.clear();
  pass.weights.clear();
}
}  // namespace shardplan
