// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/tape.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardplan {
namespace {

bool IsProduct(const Op& op) { return op.kind == OpKind::kGemm || op.kind == OpKind::kGroupedGemm; }

// The product, attention or exchange that reads what op `i` writes; null: the residual stream does.
const Op* ReaderOf(const Block& block, std::size_t i) {
  for (std::size_t next = i + 1; next < block.ops.size(); ++next) {
    const Op& op = block.ops[next];
    if (op.kind != OpKind::kPointwise) return &op;
    if (op.module == Module::kOther && op.traffic_cut == Cut::kSequence) return nullptr;
  }
  return nullptr;
}
}  // namespace

Labels::Id Labels::Of(MemoryPart part, std::string op, std::string what) {
  Label label{part, std::move(op), std::move(what)};
  const auto found = std::find(labels_.begin(), labels_.end(), label);
  if (found != labels_.end()) return static_cast<Id>(found - labels_.begin());
  labels_.push_back(std::move(label));
  return static_cast<Id>(labels_.size() - 1);
}

Flow Tape::FlowOf(const Op& op) const {
  switch (op.kind) {
    case OpKind::kGemm:
    case OpKind::kGroupedGemm:
      return op.joins ? Flow::kJoined : Flow::kProduct;
    case OpKind::kAttention:
      return Flow::kAttention;
    case OpKind::kDispatch:
      return Flow::kGather;
    case OpKind::kCombine:
      return Flow::kScatter;
    case OpKind::kPointwise:
      break;
    case OpKind::kEmbedding:
    case OpKind::kLoss:
      return Flow::kInPlace;
  }
  if (op.module == Module::kActivation) return Flow::kActivation;
  const bool of_stream = op.traffic_cut == Cut::kSequence &&
                         op.vectors <= 2.0 * model_.facts.hidden_size && op.weights == 0;
  if (op.module == Module::kLayernorm && of_stream &&
      op.traffic_fused >= 2.0 * model_.facts.hidden_size)
    return Flow::kNorm;
  return op.module == Module::kOther && of_stream && op.vectors == 0 ? Flow::kResidual
                                                                     : Flow::kInPlace;
}

// Bytes of what an op writes for the next one, on this rank.
double Tape::OutputOf(const Block& block, std::size_t i) const {
  const Op& op = block.ops[i];
  const double width = conventions_.compute_bytes;
  switch (op.kind) {
    case OpKind::kGemm:
      return width * op.n * tokens_ / (op.column ? Split(op.weight_cut) : sequence_split_);
    case OpKind::kGroupedGemm:
      return width * op.n * tokens_ * op.routed / Split(op.column ? Cut::kExpert : Cut::kRouted);
    case OpKind::kAttention:
      return width * op.heads * op.v_dim * tokens_ / sharding_.tp;
    case OpKind::kDispatch:
      return width * model_.facts.hidden_size * tokens_ * op.routed / Split(Cut::kRouted);
    default:
      break;
  }
  if (op.module == Module::kActivation)
    if (const Op* reader = ReaderOf(block, i); reader != nullptr && IsProduct(*reader))
      return width * reader->k * tokens_ *
             (reader->kind == OpKind::kGroupedGemm ? reader->routed / Split(Cut::kExpert)
                                                   : 1.0 / sharding_.tp);
  return conventions_.residual_bytes * model_.facts.hidden_size * tokens_ / sequence_split_;
}

// Saved rows that are a multiple of what the op writes are that many tensors.
std::vector<TapeTensor> Tape::Tensors(const Op& op, double width, Labels& labels) const {
  std::vector<TapeTensor> tensors;
  for (const Saved& saved : op.saved) {
    const double bytes = BytesOf(saved, op);
    if (bytes <= 0) continue;
    const double ratio = width > 0 ? bytes / width : 1;
    const int pieces = ratio > 1.5 && std::abs(ratio - std::round(ratio)) < 1e-6 &&
                               saved.per_score == 0 && saved.type != Elements::kFloat32
                           ? static_cast<int>(std::round(ratio))
                           : 1;
    const Labels::Id label = labels.Of(MemoryPart::kActivations, op.name, saved.what);
    for (int i = 0; i < pieces; ++i) tensors.push_back({bytes / pieces, label});
  }
  return tensors;
}

// Whether a later op of the block keeps what this product writes, so that it is not counted twice.
bool Tape::OutputIsKept(const Block& block, std::size_t i) const {
  if (!block.ops[i].saved.empty()) return true;
  for (std::size_t next = i + 1; next < block.ops.size(); ++next) {
    const Op& op = block.ops[next];
    if (IsProduct(op)) {
      if (op.joins || !op.saved.empty()) continue;
      return false;
    }
    if (op.module == Module::kActivation || op.kind == OpKind::kAttention) return true;
    if (op.kind != OpKind::kPointwise || op.traffic_cut == Cut::kSequence) return false;
  }
  return false;
}

// Bytes of the gradients that an op's backward pass makes, one for each input.
std::vector<double> Tape::GradientsOf(const Block& block, std::size_t i, Flow flow) const {
  const Op& op = block.ops[i];
  const double width = conventions_.compute_bytes;
  switch (flow) {
    case Flow::kProduct:
    case Flow::kJoined:
      if (op.kind == OpKind::kGroupedGemm)
        return {width * op.k * tokens_ * op.routed / Split(op.row ? Cut::kExpert : Cut::kRouted)};
      return {width * op.k * tokens_ / (op.row ? sharding_.tp : op.column ? 1 : sequence_split_)};
    case Flow::kAttention: {
      const double keys = width * op.kv_heads * tokens_ / Split(Cut::kKv);
      return {width * op.heads * op.qk_dim * tokens_ / sharding_.tp, keys * op.qk_dim,
              keys * op.v_dim};
    }
    case Flow::kActivation: {
      const double output = OutputOf(block, i);
      if (i > 0 && block.ops[i - 1].joins) return {output, output};  // gate and up
      return {output};
    }
    case Flow::kNorm:
    case Flow::kGather:
      return {conventions_.residual_bytes * model_.facts.hidden_size * tokens_ / sequence_split_};
    case Flow::kScatter:
      return {width * model_.facts.hidden_size * tokens_ * op.routed / Split(Cut::kRouted)};
    case Flow::kResidual:
    case Flow::kInPlace:
      break;
  }
  return {};
}

BlockTape Tape::Of(const Block& block, const Recompute& recompute, Labels& labels) const {
  BlockTape tape;
  const bool full = recompute.kind == RecomputeKind::kFull;
  tape.residual = {
      conventions_.residual_bytes * model_.facts.hidden_size * tokens_ / sequence_split_,
      labels.Of(MemoryPart::kActivations, "residual stream", "between blocks")};
  int products = 0;
  bool again = false;
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    const Op& op = block.ops[i];
    TapeOp row;
    row.op = &op;
    row.flow = FlowOf(op);
    if (IsProduct(op)) ++products;
    const double output = OutputOf(block, i);
    const Keep keep = full ? Keep::kNothing : KeepOf(op, recompute, products);
    std::vector<TapeTensor> tensors = Tensors(op, output, labels);
    if (keep == Keep::kAll) {
      row.kept = std::move(tensors);
    } else {
      again |= keep != Keep::kUnread && !tensors.empty();
      if (keep == Keep::kOutputOnly)
        row.kept = {{OutputBytes(op), labels.Of(MemoryPart::kActivations, op.name, "output")}};
      if (keep != Keep::kUnread) row.recomputed = std::move(tensors);
      for (TapeTensor& tensor : row.recomputed)
        tensor.label = labels.Of(MemoryPart::kWorkspace, op.name,
                                 labels.all()[tensor.label].what + ", recomputed");
    }
    // Logits are the loss's affair.
    const bool writes_stream = IsProduct(op) && !IsVocabulary(op) && !OutputIsKept(block, i);
    row.output = {writes_stream ? output : 0, labels.Of(MemoryPart::kWorkspace, op.name, "output")};
    if (op.kind == OpKind::kGemm && op.column && sequence_split_ > 1)
      row.gathered_input = {conventions_.compute_bytes * op.k * tokens_,
                            labels.Of(MemoryPart::kWorkspace, op.name, "gathered input")};
    for (const double bytes : GradientsOf(block, i, row.flow))
      row.gradients.push_back(
          {bytes, labels.Of(MemoryPart::kWorkspace, op.name, "gradient of its input")});
    if (row.flow == Flow::kAttention)
      row.workspace = {WidestGradient(op),
                       labels.Of(MemoryPart::kWorkspace, op.name, "backward workspace")};
    BlockCost owned;
    Own(op, owned);
    row.dense = owned.dense_parameters;
    row.expert = owned.expert_parameters;
    row.dense_weights = owned.dense_weights;
    row.quantized = owned.quantized_weights;
    row.weight = labels.Of(MemoryPart::kParameters, op.name, "weight");
    row.weight_gradient = labels.Of(MemoryPart::kGradients, op.name, "weight gradient");
    row.state = labels.Of(MemoryPart::kOptimizerStates, op.name, "optimizer states");
    tape.dense += row.dense;
    tape.expert += row.expert;
    tape.ops.push_back(std::move(row));
  }
  if (full || (again && conventions_.selective_per_op))
    tape.checkpoint = {Checkpoint().value,
                       labels.Of(MemoryPart::kActivations, "checkpoint", "input of a block")};
  return tape;
}
}  // namespace shardplan
