// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/cutting.h"

#include <algorithm>
#include <cmath>

namespace shardplan {
namespace {

Number NumberOf(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return Number::kFp32;
    case Precision::kTf32:
      return Number::kTf32;
    case Precision::kFp16Mixed:
    case Precision::kFp16True:
      return Number::kFp16;
    case Precision::kFp8:
    case Precision::kMxfp8:
      return Number::kFp8;
    case Precision::kNvfp4:
      return Number::kFp4;
    default:
      return Number::kBf16;
  }
}

std::uint8_t AttentionBit(AttentionImpl impl) {
  return impl == AttentionImpl::kFlash  ? kFlash
         : impl == AttentionImpl::kSdpa ? kSdpa
                                        : kEagerScores;
}
}  // namespace

Recompute Meant(const Job& job, const Recompute& recompute) {
  if (recompute.kind == RecomputeKind::kSelective && job.conventions.selective_every_second_block)
    return {.kind = RecomputeKind::kLayers, .modules = 0, .layers = {job.model->facts.layers / 2}};
  return recompute;
}

Cutting::Cutting(const Job& job, const Sharding& sharding)
    : job_(job),
      model_(*job.model),
      machine_(*job.machine),
      training_(*job.training),
      conventions_(job.conventions),
      sharding_(sharding) {
  sequence_split_ = sharding.sp ? sharding.tp : 1;
  tokens_ = double(sharding.micro_batch_size) * training_.seq_length / sharding.cp;
  keys_ = training_.seq_length;
  number_ = NumberOf(training_.precision);
  const double multiple =
      double(conventions_.vocab_multiple) * (conventions_.vocab_parallel ? sharding.tp : 1);
  padded_vocab_ =
      model_.facts.vocab_size > 0 ? std::ceil(model_.facts.vocab_size / multiple) * multiple : 0;
  vocab_split_ = conventions_.vocab_parallel ? sharding.tp : 1;
}

Bytes Cutting::Checkpoint() const {
  const double split = conventions_.checkpoint_sequence_sharded ? sequence_split_ : 1;
  return {conventions_.residual_bytes * model_.facts.hidden_size * tokens_ / split};
}

double Cutting::Copies(const Op& op) const {
  return tokens_ * op.routed / sequence_split_ * sharding_.etp * training_.moe_imbalance;
}

Cutting::Product Cutting::ProductOf(const Op& op) const {
  if (op.kind == OpKind::kGroupedGemm) {
    const double local = std::max(1.0, double(model_.facts.experts) / sharding_.ep);
    return {number_, Copies(op) / local, op.column ? op.n / sharding_.etp : op.n,
            op.row ? op.k / sharding_.etp : op.k, local};
  }
  const double n = IsVocabulary(op) ? padded_vocab_ / vocab_split_
                   : op.column      ? op.n / Split(op.weight_cut)
                                    : op.n;
  return {IsNarrow() && !RunsNarrow(op) ? Number::kBf16 : number_,
          op.column || op.row ? tokens_ : tokens_ / sequence_split_, n,
          op.row ? op.k / sharding_.tp : op.k, 1};
}

double Cutting::Split(Cut cut) const {
  switch (cut) {
    case Cut::kWhole:
    case Cut::kGathered:
      return 1;
    case Cut::kTensor:
      return sharding_.tp;
    case Cut::kSequence:
      return sequence_split_;
    case Cut::kKv:
      return std::min(sharding_.tp, std::max(1, model_.facts.kv_heads));
    case Cut::kExpert:
      return sequence_split_ / training_.moe_imbalance;
    case Cut::kRouted:
      return sequence_split_ / (sharding_.etp * training_.moe_imbalance);
  }
  return 1;
}

double Cutting::ElementBytes(Elements type) const {
  switch (type) {
    case Elements::kCompute:
      return conventions_.compute_bytes;
    case Elements::kResidual:
      return conventions_.residual_bytes;
    case Elements::kInput:
      return IsNarrow() && conventions_.kernels == kTransformerEngine ? 1
                                                                      : conventions_.compute_bytes;
    case Elements::kFloat32:
      return 4;
    case Elements::kByte:
      return 1;
  }
  return 2;
}

double Cutting::SavedBytes(const Op& op) const {
  double bytes = 0;
  for (const Saved& saved : op.saved) bytes += BytesOf(saved, op);
  return bytes;
}

double Cutting::BytesOf(const Saved& saved, const Op& op) const {
  if (!(saved.kernels & conventions_.kernels)) return 0;
  if (!(saved.attention & AttentionBit(training_.attention))) return 0;
  if (saved.dropout_only && training_.dropout <= 0) return 0;
  if (saved.batched_only && sharding_.micro_batch_size == 1) return 0;
  const double scores = saved.per_score > 0 ? saved.per_score * op.heads * Keys(op) : 0;
  return ElementBytes(saved.type) * (saved.elements + scores) * tokens_ / Split(saved.cut);
}

double Cutting::OutputBytes(const Op& op) const {
  if (op.kind == OpKind::kGemm)
    return conventions_.compute_bytes * op.n * tokens_ /
           (op.column ? Split(op.weight_cut) : sequence_split_);
  return SavedBytes(op);
}

double Cutting::WidestGradient(const Op& op) const {
  if (op.kind == OpKind::kAttention) {
    // Context parallelism brings the keys and values of all its ranks, and their gradients.
    const double elsewhere = sharding_.cp > 1 && sharding_.cp_kind != CpKind::kUlysses
                                 ? 2 * conventions_.compute_bytes * op.kv_heads *
                                       (op.qk_dim + op.v_dim) * tokens_ * sharding_.cp /
                                       Split(Cut::kKv)
                                 : 0;
    // Eager attention: fp32 gradients of the scores.
    const double scores = training_.attention == AttentionImpl::kEager
                              ? 2 * 4 * op.heads * Keys(op) * tokens_ / sharding_.tp
                              : 0;
    return elsewhere + scores;
  }
  if (op.kind == OpKind::kGemm && op.row)
    return 2 * conventions_.compute_bytes * op.k * tokens_ / sharding_.tp;
  return 0;
}

Keep Cutting::KeepOf(const Op& op, const Recompute& recompute, int products) const {
  std::uint32_t modules = recompute.modules;
  if (recompute.kind == RecomputeKind::kNone) return Keep::kAll;
  if (recompute.kind == RecomputeKind::kSelective) {
    if (conventions_.selective_per_op) {
      // torchtitan's policy saves attention's output and every second matrix product's.
      if (op.kind == OpKind::kAttention) return Keep::kAll;
      if (op.kind == OpKind::kGemm || op.kind == OpKind::kGroupedGemm) {
        // The compiler saves only what the backward pass reads, and nothing reads the output of the
        // block's last product: the residual's gradient is the sum's.
        if (products % 2 == 1)
          return op.row && conventions_.kernels == kCompiled ? Keep::kUnread : Keep::kOutputOnly;
        return Keep::kNothing;
      }
      if (op.kind == OpKind::kDispatch || op.kind == OpKind::kCombine || op.kind == OpKind::kLoss)
        return Keep::kAll;
      return Keep::kNothing;
    }
    modules = conventions_.selective_modules;
  }
  const auto named = [&](Module module) {
    return module != Module::kOther && (modules >> static_cast<int>(module) & 1u) != 0;
  };
  return named(op.module) || named(op.parent) ? Keep::kNothing : Keep::kAll;
}

void Cutting::Own(const Op& op, BlockCost& cost) const {
  const auto share = [&](double parameters, Cut cut) {
    if (parameters <= 0) return;
    double mine = parameters;
    if (cut == Cut::kExpert) {
      mine /= double(sharding_.ep) * sharding_.etp;
      cost.expert_parameters += mine;
      cost.largest_weight = std::max(cost.largest_weight, mine);
      if (parameters == op.weights) cost.quantized_weights += mine;
      return;
    }
    const bool vocabulary =
        op.kind == OpKind::kEmbedding || (op.kind == OpKind::kGemm && IsVocabulary(op));
    if (vocabulary && cut == Cut::kTensor) {
      mine = parameters / model_.facts.vocab_size * padded_vocab_ / vocab_split_;
    } else if (cut == Cut::kTensor || cut == Cut::kKv) {
      mine /= Split(cut);
    }
    cost.dense_parameters += mine;
    cost.largest_weight = std::max(cost.largest_weight, mine);
    if (op.kind != OpKind::kGemm || parameters != op.weights) return;
    cost.dense_weights += mine;
    if (RunsNarrow(op)) cost.quantized_weights += mine;
  };
  share(op.weights, op.weight_cut);
  share(op.vectors, op.vector_cut);
}

double RecomputedShare(const Recompute& recompute, const Model& model, std::size_t stage,
                       double layers) {
  if (recompute.kind != RecomputeKind::kLayers || recompute.layers.empty() || layers <= 0) return 0;
  if (recompute.layers.size() == 1)
    return std::min(1.0, double(recompute.layers[0]) / std::max(1, model.facts.layers));
  return stage < recompute.layers.size() ? std::min(1.0, recompute.layers[stage] / layers) : 0;
}
}  // namespace shardplan
