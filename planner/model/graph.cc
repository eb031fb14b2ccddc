// SPDX-License-Identifier: Apache-2.0
#include "planner/model/graph.h"

#include <algorithm>
#include <cstddef>

namespace shardplan {
namespace {

double ActiveParameters(const Block& block, double experts, double top_k) {
  double sum = 0;
  for (const Op& op : block.ops)
    sum += (op.weights + op.vectors) * (op.kind == OpKind::kGroupedGemm ? top_k / experts : 1);
  return sum;
}

double ForwardFlopsPerToken(const Block& block, double sequence) {
  double sum = 0;
  for (const Op& op : block.ops) {
    const double copies = op.routed > 0 ? op.routed : 1;
    if (op.kind == OpKind::kGemm || op.kind == OpKind::kGroupedGemm)
      sum += 2 * op.n * op.k * copies;
    if (op.kind == OpKind::kAttention) {
      const double keys = op.window > 0 ? std::min(op.window, sequence) : sequence;
      sum += 2 * op.heads * (op.qk_dim + op.v_dim) * keys;
    }
  }
  return sum;
}
}  // namespace

double CountParameters(const Block& block) {
  double sum = 0;
  for (const Op& op : block.ops) sum += op.weights + op.vectors;
  return sum;
}

ParameterCount CountParameters(const Model& model) {
  ParameterCount count;
  count.embedding = CountParameters(model.embedding);
  count.total = count.embedding + CountParameters(model.head);
  count.active = count.total;
  for (int block : model.layers) {
    const Block& layer = model.blocks[static_cast<std::size_t>(block)];
    count.total += CountParameters(layer);
    count.active += ActiveParameters(layer, model.facts.experts, model.facts.experts_per_token);
  }
  for (const Block& module : model.mtp) count.mtp += CountParameters(module);
  return count;
}

double ModelFlopsPerToken(const Model& model, double sequence) {
  double forward =
      ForwardFlopsPerToken(model.head, sequence) + ForwardFlopsPerToken(model.embedding, sequence);
  for (int block : model.layers)
    forward += ForwardFlopsPerToken(model.blocks[static_cast<std::size_t>(block)], sequence);
  // An MTP module computes its layer and the shared head.
  for (const Block& module : model.mtp)
    forward += ForwardFlopsPerToken(module, sequence) + ForwardFlopsPerToken(model.head, sequence);
  return 3 * forward;
}
}  // namespace shardplan
