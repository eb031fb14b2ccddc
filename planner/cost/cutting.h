// SPDX-License-Identifier: Apache-2.0
// How a sharding cuts one layer: a rank's tokens, its share of weights and tensors, and what it
// keeps.
//
// The memory side of CostLayers; times are in layers.cc. Private to planner/cost.
#pragma once
#include <algorithm>

#include "planner/cost/cost.h"

namespace shardplan {

// What recomputation leaves of one op's saved tensors. kUnread: nothing, and nothing runs again.
enum class Keep { kAll, kNothing, kOutputOnly, kUnread };

// What is recomputed, said in full: `selective` where it stands for a share of the blocks.
Recompute Meant(const Job& job, const Recompute& recompute);

class Cutting {
 public:
  Cutting(const Job& job, const Sharding& sharding);

  double tokens() const { return tokens_; }
  double padded_vocab() const { return padded_vocab_; }
  double vocab_split() const { return vocab_split_; }

  // The input of a recomputed block.
  Bytes Checkpoint() const;

 protected:
  double Split(Cut cut) const;
  double Keys(const Op& op) const { return op.window > 0 ? std::min(op.window, keys_) : keys_; }
  // Bytes that autograd keeps of an op, and of one of its tensors. (Eq. 11)
  double SavedBytes(const Op& op) const;
  double BytesOf(const Saved& saved, const Op& op) const;
  // What per-op checkpointing keeps of an op: its output.
  double OutputBytes(const Op& op) const;
  // Gradients of an op's inputs while its backward runs: the widest pair alive at once.
  double WidestGradient(const Op& op) const;
  // `products`: matrix products of the block up to this op. (Eq. 12)
  Keep KeepOf(const Op& op, const Recompute& recompute, int products) const;
  // Adds an op's parameters on this rank.
  void Own(const Op& op, BlockCost& cost) const;
  bool IsNarrow() const { return number_ == Number::kFp8 || number_ == Number::kFp4; }
  // Only the layers' large products run in 8 or 4 bits; head and router stay in 16.
  bool RunsNarrow(const Op& op) const { return IsNarrow() && !IsVocabulary(op) && op.n >= 1024; }
  bool IsVocabulary(const Op& op) const { return op.column && op.n == model_.facts.vocab_size; }
  // A product on this rank, forward: m x k by k x n, `batch` of them where experts share a rank.
  struct Product {
    Number number;
    double m, n, k, batch;
  };
  Product ProductOf(const Op& op) const;
  // Tokens' copies that a rank's experts work on.
  double Copies(const Op& op) const;

  const Job& job_;
  const Model& model_;
  const Machine& machine_;
  const Training& training_;
  const Conventions& conventions_;
  const Sharding& sharding_;
  double sequence_split_ = 1, tokens_ = 0, keys_ = 0, padded_vocab_ = 0, vocab_split_ = 1;
  Number number_ = Number::kBf16;

 private:
  double ElementBytes(Elements type) const;
};

// Share of a stage's layers that are recomputed in full, under `recompute: {layers: ...}`.
double RecomputedShare(const Recompute& recompute, const Model& model, std::size_t stage,
                       double layers);
}  // namespace shardplan
