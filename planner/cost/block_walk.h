// SPDX-License-Identifier: Apache-2.0
// Forward and backward passes of single blocks in the allocator's replay. Private to planner/cost.
#pragma once
#include <utility>
#include <vector>

#include "planner/cost/arena.h"
#include "planner/cost/replay_state.h"

namespace shardplan {

// What one block keeps of one micro batch, from its forward to its backward pass.
struct BlockPass {
  int copies = 1;                             // layers times micro batches that it stands for
  std::vector<std::pair<int, Held>> kept;     // by op
  std::vector<std::pair<int, Held>> weights;  // autocast's copies, by op
  Held input;                                 // where recomputation starts
  bool offloaded = false;
};

class BlockWalk {
 public:
  BlockWalk(Arena& arena, ReplayState& state, bool autocast)
      : arena_(arena), state_(state), autocast_(autocast) {}

  // The residual stream enters and leaves in `stream`.
  void Forward(const BlockTape& tape, Held& stream, BlockPass& pass);
  // The gradient of the residual stream enters and leaves in `gradient`; `output` is the gradient
  // of the last op's output where the block does not end in the stream.
  void Backward(const BlockTape& tape, int unit, Held& gradient, BlockPass& pass, Held output = {});

  // Activations in the host's memory: what is kept leaves, and comes back.
  void Offload(BlockPass& pass);
  void Fetch(const BlockTape& tape, BlockPass& pass);
  void DropWeights(BlockPass& pass);

 private:
  Held Keep(const TapeTensor& tensor, const BlockPass& pass);
  void Recompute(const BlockTape& tape, BlockPass& pass);
  void BackwardOp(const BlockTape& tape, const TapeOp& op, Held& gradient);
  void ReleaseLast(BlockPass& pass, int index);
  Held TakeLast();

  Arena& arena_;
  ReplayState& state_;
  const bool autocast_;
  int unit_ = 0;
  // Gradients of activations on their way through the block, and the sum of those that products
  // with one input have left so far.
  std::vector<Held> chain_;
  Held joined_;
};
}  // namespace shardplan
