// SPDX-License-Identifier: Apache-2.0
// A block as a row of tensors: what one micro batch allocates on one rank, op by op.
//
// The same numbers as BlockCost, not summed: CostLayers adds them up for the search, the replay
// walks them. Private to planner/cost.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "planner/cost/cutting.h"

namespace shardplan {

// What a tensor is, for people: the part of memory it counts to, the op and its name there.
struct Label {
  MemoryPart part = MemoryPart::kActivations;
  std::string op, what;
  bool operator==(const Label&) const = default;
};

class Labels {
 public:
  using Id = std::uint16_t;
  Id Of(MemoryPart part, std::string op, std::string what);
  const std::vector<Label>& all() const { return labels_; }

 private:
  std::vector<Label> labels_;
};

struct TapeTensor {
  double bytes = 0;
  Labels::Id label = 0;
};

// How the backward pass of an op takes and leaves gradients of activations.
enum class Flow : std::uint8_t {
  kProduct,     // one in, one out
  kJoined,      // the same, but shares its input with the product before: their gradients add up
  kAttention,   // one in, one each for q, k and v out
  kActivation,  // one in, one for each of its inputs out
  kNorm,        // of the residual stream: what came adds to its gradient
  kResidual,    // passes the gradient of the residual stream on
  kScatter,     // combine: from the residual stream's gradient to routed copies
  kGather,      // dispatch: from routed copies to tokens
  kInPlace,     // rotary and the like: nothing new
};

struct TapeOp {
  const Op* op = nullptr;
  Flow flow = Flow::kInPlace;
  std::vector<TapeTensor> kept;        // from forward to backward
  std::vector<TapeTensor> recomputed;  // made in forward, dropped, made again before the backward
  TapeTensor output;                   // read by the next op and by nobody later; 0: kept above
  TapeTensor gathered_input;           // whole over tp while the product runs
  std::vector<TapeTensor> gradients;   // of its inputs
  TapeTensor workspace;                // while its backward runs
  double dense = 0, expert = 0;        // parameters on this rank, before ZeRO
  double dense_weights = 0;            // of `dense`, in matrix products
  double quantized = 0;                // weights that have narrow copies
  Labels::Id weight = 0, weight_gradient = 0, state = 0;
};

struct BlockTape {
  std::vector<TapeOp> ops;
  TapeTensor residual;    // the stream between blocks
  TapeTensor checkpoint;  // the input that recomputation starts from; 0: nothing is recomputed
  double dense = 0, expert = 0;
};

class Tape : public Cutting {
 public:
  Tape(const Job& job, const Sharding& sharding) : Cutting(job, sharding) {}
  // REQUIRES: `recompute` is none, selective, full or modules.
  BlockTape Of(const Block& block, const Recompute& recompute, Labels& labels) const;

 private:
  Flow FlowOf(const Op& op) const;
  double OutputOf(const Block& block, std::size_t i) const;
  std::vector<double> GradientsOf(const Block& block, std::size_t i, Flow flow) const;
  std::vector<TapeTensor> Tensors(const Op& op, double width, Labels& labels) const;
  bool OutputIsKept(const Block& block, std::size_t i) const;
};
}  // namespace shardplan
