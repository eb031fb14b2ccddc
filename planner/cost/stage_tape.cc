// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/stage_tape.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "planner/cost/pipeline.h"
#include "planner/framework/stages.h"

namespace shardplan {
namespace {

constexpr int kMostPasses = 16;  // in flight that are walked one by one

// Chunks of a stage as the kinds of their layers, in the order of the model.
std::vector<std::vector<int>> ChunksOf(const Job& job, const Placement& placement, int stage) {
  const Model& model = *job.model;
  const std::vector<int> split = ChunkLayers(*job.framework, model, placement);
  // The second half of a V-shaped schedule runs back to the first rank.
  const bool turns =
      placement.schedule == Schedule::kZbV || placement.schedule == Schedule::kDualPipe;
  std::vector<std::vector<int>> chunks;
  std::size_t layer = 0;
  for (std::size_t i = 0; i < split.size(); ++i) {
    const int rank = static_cast<int>(i) % placement.pp;
    const bool back = turns && static_cast<int>(i) >= placement.pp;
    const std::size_t end =
        std::min(model.layers.size(), layer + static_cast<std::size_t>(split[i]));
    if ((back ? placement.pp - 1 - rank : rank) == stage)
      chunks.emplace_back(model.layers.begin() + static_cast<std::ptrdiff_t>(layer),
                          model.layers.begin() + static_cast<std::ptrdiff_t>(end));
    layer = end;
  }
  return chunks;
}

class Layout {
 public:
  Layout(const Job& job, const Plan& plan, int stage, int most)
      : job_(job),
        plan_(plan),
        stage_(stage),
        most_(most),
        recompute_(Meant(job, plan.sharding.recompute)),
        tape_(job, plan.sharding) {}

  StageTape Make() {
    const Placement& placement = plan_.placement;
    std::vector<std::vector<int>> chunks = ChunksOf(job_, placement, stage_);
    double layers = 0;
    for (const std::vector<int>& chunk : chunks) layers += double(chunk.size());
    recomputed_share_ =
        RecomputedShare(recompute_, *job_.model, static_cast<std::size_t>(stage_), layers);
    Count(chunks);
    MakeRoot();
    for (const std::vector<int>& chunk : chunks) AddChunk(chunk);
    if (out_.head != nullptr)
      for (const Block& module : job_.model->mtp) {
        const BlockTape* tape = Add(module, SomeLayers() ? none_ : recompute_);
        out_.mtp.push_back({tape, AddUnit(tape)});
      }
    return std::move(out_);
  }

 private:
  bool SomeLayers() const { return recompute_.kind == RecomputeKind::kLayers; }

  const BlockTape* Add(const Block& block, const Recompute& recompute) {
    out_.tapes.push_back(std::make_unique<BlockTape>(tape_.Of(block, recompute, out_.labels)));
    return out_.tapes.back().get();
  }
  int AddUnit(const BlockTape* tape, int layers = 1) {
    const int unit = static_cast<int>(out_.units.size());
    out_.units.push_back({tape, unit, layers});
    return unit;
  }

  // How many passes there are, and how many layers are taken together. The first pass stands for
  // one micro batch: it is the one whose backward begins at the peak.
  void Count(const std::vector<std::vector<int>>& chunks) {
    const Placement& p = plan_.placement;
    const int in_flight = std::max(
        1, static_cast<int>(std::lround(InFlight(p.schedule, stage_, p.pp, p.vpp, p.microbatches) *
                                        static_cast<double>(chunks.size()))));
    const int each = (in_flight + kMostPasses - 1) / kMostPasses;
    out_.passes.push_back(1);
    for (int left = in_flight - 1; left > 0; left -= each)
      out_.passes.push_back(std::min(left, each));
    out_.in_flight = static_cast<int>(out_.passes.size());
    // One more of each chunk, that begin where others have ended and left their gradients.
    const int left = p.microbatches * static_cast<int>(chunks.size()) - in_flight;
    for (int i = 0; i < std::min(left, static_cast<int>(chunks.size())); ++i)
      out_.passes.push_back(1);
    std::size_t longest = 1;
    for (const std::vector<int>& layers : chunks) longest = std::max(longest, layers.size());
    together_ = std::max(1, (static_cast<int>(longest) * out_.in_flight + most_ - 1) / most_);
  }

  void MakeRoot() {
    const Model& model = *job_.model;
    const bool first = stage_ == 0, last = stage_ + 1 == plan_.placement.pp;
    if (first) out_.embedding = Add(model.embedding, {});
    if (last) {
      out_.head = Add(model.head, {});
      out_.logits = tape_.tokens() * tape_.padded_vocab() / tape_.vocab_split();
    }
    if (first && last && job_.conventions.fsdp_style && !job_.conventions.root_in_parts) {
      BlockTape root = *out_.embedding;
      root.ops.insert(root.ops.end(), out_.head->ops.begin(), out_.head->ops.end());
      root.dense += out_.head->dense;
      root.expert += out_.head->expert;
      out_.tapes.push_back(std::make_unique<BlockTape>(std::move(root)));
      out_.embedding_unit = out_.head_unit = AddUnit(out_.tapes.back().get());
      return;
    }
    if (first) out_.embedding_unit = AddUnit(out_.embedding);
    if (!last) return;
    out_.head_unit = AddUnit(out_.head);
    if (!first && (model.facts.tied_embeddings || !model.mtp.empty()))
      out_.table_unit = AddUnit(Add(model.embedding, {}));
  }

  const BlockTape* TapeOf(std::size_t kind, bool again) {
    std::vector<const BlockTape*>& known = again ? recomputed_ : plain_;
    known.resize(job_.model->blocks.size());
    if (known[kind] == nullptr)
      known[kind] = Add(job_.model->blocks[kind], again          ? full_
                                                  : SomeLayers() ? none_
                                                                 : plan_.sharding.recompute);
    return known[kind];
  }

  void AddChunk(const std::vector<int>& layers) {
    StageTape::Chunk chunk, open;  // open: groups that are not full yet
    const auto close = [&](const StageTape::Layer& group) {
      chunk.push_back(group);
      chunk.back().unit = AddUnit(group.tape, group.layers);
    };
    for (const int kind : layers) {
      const bool again = SomeLayers() && IsRecomputed(laid_++);
      const BlockTape* tape = TapeOf(static_cast<std::size_t>(kind), again);
      auto group = std::find_if(open.begin(), open.end(),
                                [&](const StageTape::Layer& g) { return g.tape == tape; });
      if (group == open.end()) group = open.insert(open.end(), {tape, 0, 0});
      if (++group->layers < together_) continue;
      close(*group);
      open.erase(group);
    }
    for (const StageTape::Layer& group : open) close(group);
    out_.chunks.push_back(std::move(chunk));
  }

  // Under `recompute: {layers: ...}`: evenly spread.
  bool IsRecomputed(std::size_t layer) const {
    const auto before = [&](std::size_t i) {
      return std::floor(double(i) * recomputed_share_ + 1e-9);
    };
    return before(layer + 1) > before(layer);
  }

  const Job& job_;
  const Plan& plan_;
  const int stage_, most_;
  const Recompute recompute_;
  const Tape tape_;
  const Recompute none_, full_{.kind = RecomputeKind::kFull, .modules = 0, .layers = {}};
  double recomputed_share_ = 0;
  int together_ = 1;      // layers
  std::size_t laid_ = 0;  // layers of the stage so far
  StageTape out_;
  std::vector<const BlockTape*> plain_, recomputed_;  // by kind
};
}  // namespace

StageTape LayOut(const Job& job, const Plan& plan, int stage, int most_layer_passes) {
  return Layout(job, plan, stage, most_layer_passes).Make();
}
}  // namespace shardplan
