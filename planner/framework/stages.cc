// SPDX-License-Identifier: Apache-2.0
#include "planner/framework/stages.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace shardplan {
namespace {

// Number of chunks; 0 where such a pipeline does not exist.
int ChunksOf(int pp, int vpp) {
  if (pp < 1 || vpp < 1 || (pp == 1 && vpp > 1)) return 0;
  const std::int64_t chunks = std::int64_t{pp} * vpp;
  return chunks > 1'000'000 ? 0 : static_cast<int>(chunks);
}

// `units` over `chunks` so that no two differ by more than one. The spare units go to inner chunks,
// always to the rank with the fewest, of equals the last: later ranks hold fewer micro batches.
// Then to the first chunk; the last, which has the head, is filled last.
std::vector<int> Balanced(int units, int chunks, int ranks) {
  std::vector<int> split(static_cast<std::size_t>(chunks), units / chunks);
  std::vector<int> spare(static_cast<std::size_t>(ranks), 0);
  std::vector<char> taken(static_cast<std::size_t>(chunks), 0);
  for (int left = units % chunks; left > 0; --left) {
    int best = -1;
    for (int chunk = 1; chunk < chunks - 1; ++chunk)
      if (!taken[chunk] && (best < 0 || spare[chunk % ranks] <= spare[best % ranks])) best = chunk;
    if (best < 0) best = taken[0] ? chunks - 1 : 0;
    taken[best] = 1;
    ++spare[best % ranks];
    ++split[best];
  }
  return split;
}

// Only the first and the last chunk may have no layer.
std::vector<int> UnlessHollow(std::vector<int> split) {
  for (std::size_t i = 1; i + 1 < split.size(); ++i)
    if (split[i] == 0) return {};
  return split;
}

std::vector<int> BalancedWithExtra(int layers, int extra_on_last, int chunks, int ranks) {
  std::vector<int> split = Balanced(layers + extra_on_last, chunks, ranks);
  if (split.back() >= extra_on_last) {
    split.back() -= extra_on_last;
  } else {  // what the last has besides is more than a share: it gets no layer, the others all
    if (chunks == 1) return {layers};
    split = Balanced(layers, chunks - 1, ranks);
    split.push_back(0);
  }
  return UnlessHollow(std::move(split));
}

// Weights of the large matrices, which both FLOPs and parameters follow.
double LayerWeights(const ModelFacts& facts, bool all_experts) {
  const double hidden = facts.hidden_size;
  const double head_dim = facts.head_dim > 0 ? facts.head_dim : hidden / std::max(1, facts.heads);
  const int kv_heads = facts.kv_heads > 0 ? facts.kv_heads : facts.heads;
  const double attention = 2 * hidden * head_dim * (facts.heads + kv_heads);
  const double matrices = facts.gated_mlp ? 3 : 2;
  const int copies = all_experts ? facts.experts : facts.experts_per_token;
  const double ffn = facts.experts > 0 && facts.moe_intermediate_size > 0
                         ? double{1} * facts.moe_intermediate_size * std::max(1, copies)
                         : facts.intermediate_size;
  return std::max(1.0, attention + matrices * hidden * ffn);
}

// Greedy: each part takes items while it stays within `most`. Returns the parts needed, at most
// `parts` + 1; `sizes` are those of the parts.
int Fill(const std::vector<double>& weights, int parts, double most, std::vector<int>& sizes) {
  sizes.assign(1, 0);
  double sum = 0;
  for (const double weight : weights) {
    if (sum + weight > most && sizes.back() > 0) {
      if (static_cast<int>(sizes.size()) == parts) return parts + 1;
      sizes.push_back(0);
      sum = 0;
    }
    sum += weight;
    ++sizes.back();
  }
  return sum > most ? parts + 1 : static_cast<int>(sizes.size());
}
}  // namespace

int LayersOf(const Model& model) {
  return model.layers.empty() ? model.facts.layers : static_cast<int>(model.layers.size());
}

std::vector<int> SplitMegatron(const Model& model, int pp, int vpp) {
  const int chunks = ChunksOf(pp, vpp), layers = LayersOf(model);
  if (chunks == 0 || chunks > layers + 2) return {};
  const int mtp = layers % chunks == 0 ? 0 : model.facts.mtp_layers;
  return BalancedWithExtra(layers, mtp, chunks, pp);
}

std::vector<int> SplitBalanced(const Model& model, int pp, int vpp) {
  const int chunks = ChunksOf(pp, vpp), layers = LayersOf(model);
  if (chunks == 0 || chunks > layers + 2) return {};
  return BalancedWithExtra(layers, 0, chunks, pp);
}

std::vector<int> SplitTorch(const Model& model, int pp, int vpp) {
  const int chunks = ChunksOf(pp, vpp), layers = LayersOf(model);
  if (chunks == 0 || chunks > layers + 2) return {};
  if (chunks == 1) return {layers};
  std::vector<int> split(static_cast<std::size_t>(chunks), (layers + 2) / chunks);
  for (int i = 0; i < (layers + 2) % chunks; ++i) ++split[static_cast<std::size_t>(i)];
  --split.front();
  --split.back();
  return split;
}

std::vector<int> SplitNanotron(const Model& model, int pp, int vpp) {
  const int layers = LayersOf(model);
  if (ChunksOf(pp, vpp) == 0 || vpp > 1 || pp > layers) return {};
  const ModelFacts& facts = model.facts;
  const double head = double{1} * facts.vocab_size * facts.hidden_size / LayerWeights(facts, false);
  const double share = (layers + head) / pp;
  std::vector<int> split(static_cast<std::size_t>(pp), 0);
  int stage = 0;
  for (int layer = 1; layer <= layers; ++layer) {
    ++split[static_cast<std::size_t>(stage)];
    if (layer > share * (stage + 1) && stage + 1 < pp) ++stage;
  }
  return split;
}

std::vector<int> SplitDeepspeed(const Model& model, int pp, int vpp) {
  const int layers = LayersOf(model);
  if (ChunksOf(pp, vpp) == 0 || vpp > 1 || pp > layers) return {};
  if (pp == 1) return {layers};
  const ModelFacts& facts = model.facts;
  std::vector<double> weights(static_cast<std::size_t>(layers) + 2, 1.0);
  weights.front() = weights.back() =
      double{1} * facts.vocab_size * facts.hidden_size / LayerWeights(facts, true);
  double low = 0, high = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int> sizes;
  for (int step = 0; step < 50; ++step) {
    const double middle = (low + high) / 2;
    (Fill(weights, pp, middle, sizes) <= pp ? high : low) = middle;
  }
  Fill(weights, pp, high, sizes);
  // The greedy fill may need fewer parts than there are: halve the largest until each has some.
  while (static_cast<int>(sizes.size()) < pp) {
    const auto largest = std::max_element(sizes.begin(), sizes.end());
    const int half = *largest / 2;
    *largest -= half;
    sizes.insert(largest + 1, half);
  }
  --sizes.front();  // the embedding
  --sizes.back();   // the head
  return sizes;
}

std::vector<int> SplitNot(const Model& model, int pp, int vpp) {
  return pp == 1 && vpp == 1 ? std::vector<int>{LayersOf(model)} : std::vector<int>{};
}

std::vector<int> ChunkLayers(const Framework& framework, const Model& model,
                             const Placement& placement) {
  const std::vector<int>& wish = placement.stage_layers;
  const int pp = placement.pp, vpp = placement.vpp;
  if (wish.empty()) return framework.split(model, pp, vpp);
  if (vpp == 1 || static_cast<int>(wish.size()) != pp) return wish;
  std::vector<int> split;
  for (int chunk = 0; chunk < vpp; ++chunk)
    for (const int layers : wish) split.push_back(layers / vpp + (chunk < layers % vpp ? 1 : 0));
  return split;
}
}  // namespace shardplan
