// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "planner/cost/block_walk.h"
#include "planner/cost/stage_tape.h"

namespace shardplan {
namespace {

constexpr int kPointsAPass = 4;  // of the series

// One micro batch on one chunk.
struct ChunkPass {
  std::size_t number = 0;
  std::vector<BlockPass> layers, mtp;
  BlockPass embedding, head;
  Held sent;  // to the next stage, where it stays
};

class StageWalk {
 public:
  StageWalk(const Job& job, const LayersCost& layers, const StageCost& stage, const StageLoad& load,
            const Plan& plan, int most_layer_passes)
      : job_(job),
        costs_(layers),
        policy_(job, stage, plan.policy),
        tape_(LayOut(job, plan, load.stage, most_layer_passes)),
        logits_(LogitLabels(tape_.labels)),
        arena_({.expandable_segments = job.training->expandable_segments}),
        state_(job, policy_, load, plan.placement.pp, tape_.units, tape_.labels, arena_),
        walk_(arena_, state_, job.conventions.autocast_copy_bytes > 0),
        full_(plan.sharding.recompute.kind == RecomputeKind::kFull),
        piped_(plan.placement.pp > 1) {}

  StageReplay Run() {
    state_.Build();
    // The first step ends with the birth of the optimizer's states among what it leaves cached; the
    // second finds them in its way, and those that follow repeat it.
    Step(static_cast<std::size_t>(tape_.in_flight));
    arena_.Watch();
    shows_ = true;
    Step(tape_.passes.size());
    return Result();
  }

 private:
  struct LogitIds {
    Labels::Id logits, copies, gradient, boundary, mtp, head_gradient;
  };
  static LogitIds LogitLabels(Labels& labels) {
    return {labels.Of(MemoryPart::kLogits, "lm_head", "logits"),
            labels.Of(MemoryPart::kLogits, "loss", "fp32 copies of the logits"),
            labels.Of(MemoryPart::kLogits, "loss", "gradient of the logits"),
            labels.Of(MemoryPart::kActivations, "pipeline", "sent and received"),
            labels.Of(MemoryPart::kActivations, "multi-token prediction", "logits"),
            labels.Of(MemoryPart::kWorkspace, "lm_head", "weight gradient")};
  }

  const StageTape::Chunk& ChunkOf(std::size_t number) const {
    return tape_.chunks[number % tape_.chunks.size()];
  }
  bool Embeds(std::size_t number) const {
    return tape_.embedding != nullptr && number % tape_.chunks.size() == 0;
  }
  bool Loses(std::size_t number) const {
    return tape_.head != nullptr && (number + 1) % tape_.chunks.size() == 0;
  }

  void Step(std::size_t passes) {
    std::size_t next = 0;
    state_.StartBackward();
    while (next < static_cast<std::size_t>(tape_.in_flight)) Forward(next++);
    while (!flying_.empty()) {
      Backward();
      if (next < passes) Forward(next++);
    }
    state_.ReduceAll();
    Mark("gradient reduction");
    state_.Optimize();
    Mark("optimizer step");
    state_.EndStep();
    Mark("end of the step");
  }

  void Forward(std::size_t number) {
    ChunkPass pass;
    pass.number = number;
    const StageTape::Chunk& chunk = ChunkOf(number);
    Held stream = Receive();
    if (Embeds(number)) {
      state_.Gather(tape_.embedding_unit, -1);
      pass.embedding.copies = tape_.passes[number];
      walk_.Forward(*tape_.embedding, stream, pass.embedding);
      if (job_.conventions.root_in_parts) state_.Leave(tape_.embedding_unit, false);
      arena_.Drop(stream);
    }
    if (stream.empty && !chunk.empty()) stream = arena_.Hold(chunk.front().tape->residual);
    pass.layers.resize(chunk.size());
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      state_.Gather(chunk[i].unit, i + 1 < chunk.size() ? chunk[i + 1].unit : -1);
      pass.layers[i].copies = tape_.passes[number] * chunk[i].layers;
      walk_.Forward(*chunk[i].tape, stream, pass.layers[i]);
      state_.Leave(chunk[i].unit, false);
      if (!policy_.activations_on_gpu && i > 0) walk_.Offload(pass.layers[i - 1]);
      MarkLayer("forward", number, i, chunk.size());
    }
    if (job_.conventions.keeps_stage_outputs && piped_ && tape_.head == nullptr)
      pass.sent = arena_.Hold({costs_.boundary.value * tape_.passes[number], logits_.boundary});
    if (piped_ && !Loses(number)) {
      arena_.Drop(sent_);
      sent_ = std::exchange(stream, Held{});
    }
    arena_.Drop(stream);
    flying_.push_back(std::move(pass));
  }

  void Backward() {
    ChunkPass pass = std::move(flying_.front());
    flying_.pop_front();
    const StageTape::Chunk& chunk = ChunkOf(pass.number);
    Held gradient = Receive();
    if (Loses(pass.number)) gradient = Loss(pass);
    for (std::size_t i = chunk.size(); i-- > 0;) {
      if (i > 0) walk_.Fetch(*chunk[i - 1].tape, pass.layers[i - 1]);
      state_.Gather(chunk[i].unit, i > 0 ? chunk[i - 1].unit : -1);
      walk_.Backward(*chunk[i].tape, chunk[i].unit, gradient, pass.layers[i]);
      state_.Leave(chunk[i].unit, true);
      state_.Reduce(chunk[i].unit);
      MarkLayer("backward", pass.number, i, chunk.size());
    }
    arena_.Drop(kept_logits_);
    arena_.Drop(pass.sent);
    if (Embeds(pass.number)) {
      if (job_.conventions.root_in_parts) state_.Gather(tape_.embedding_unit, -1);
      walk_.Backward(*tape_.embedding, tape_.embedding_unit, gradient, pass.embedding);
      state_.Leave(tape_.embedding_unit, true);
      state_.Reduce(tape_.embedding_unit);
    } else if (piped_) {
      arena_.Drop(sent_);
      sent_ = std::exchange(gradient, Held{});
    }
    state_.EndBackward();
    arena_.Drop(gradient);
  }

  // What the neighbour sends, in a pipeline.
  Held Receive() {
    return piped_ ? arena_.Hold({costs_.boundary.value, logits_.boundary}) : Held{};
  }

  // Head and loss, forward and backward; returns the gradient of the stream.
  Held Loss(ChunkPass& pass) {
    Held stream, gradient;
    std::vector<Held> others;
    pass.mtp.resize(tape_.mtp.size());
    for (std::size_t i = 0; i < tape_.mtp.size(); ++i) {
      state_.Gather(tape_.mtp[i].unit, -1);
      walk_.Forward(*tape_.mtp[i].tape, stream, pass.mtp[i]);
      state_.Leave(tape_.mtp[i].unit, false);
      others.push_back(
          arena_.Hold({(costs_.head.saved + costs_.logits_backward).value, logits_.mtp}));
    }
    arena_.Drop(stream);
    state_.Gather(tape_.head_unit, -1);
    walk_.Forward(*tape_.head, stream, pass.head);
    Held of_logits = LossOf(pass);
    walk_.Backward(*tape_.head, tape_.head_unit, gradient, pass.head, of_logits);
    state_.Leave(tape_.head_unit, true);
    if (tape_.head_unit != tape_.embedding_unit) state_.Reduce(tape_.head_unit);
    MakeTableGradient();
    arena_.Drop(others);
    for (std::size_t i = tape_.mtp.size(); i-- > 0;) {
      state_.Gather(tape_.mtp[i].unit, -1);
      walk_.Backward(*tape_.mtp[i].tape, tape_.mtp[i].unit, gradient, pass.mtp[i]);
      state_.Leave(tape_.mtp[i].unit, true);
      state_.Reduce(tape_.mtp[i].unit);
    }
    return gradient;
  }

  // A tied head leaves the gradient of the embedding's table, or of this stage's copy of it.
  void MakeTableGradient() {
    const int unit = tape_.table_unit >= 0               ? tape_.table_unit
                     : job_.model->facts.tied_embeddings ? tape_.embedding_unit
                                                         : -1;
    if (unit < 0) return;
    for (const TapeOp& op : tape_.units[static_cast<std::size_t>(unit)].tape->ops)
      if (op.op->kind == OpKind::kEmbedding) state_.MakeGradient(unit, op);
    if (unit != tape_.head_unit) state_.Reduce(unit);
  }

  // Logits, their copies and gradients; returns the gradient of the logits.
  Held LossOf(ChunkPass& pass) {
    std::vector<Held> alive = Logits(costs_.logits_forward);
    Mark("loss");
    if (full_)  // autocast's cache ends with the forward pass
      for (BlockPass& layer : pass.layers) walk_.DropWeights(layer);
    if (costs_.logits_kept.value > 0)
      kept_logits_ = arena_.Hold({costs_.logits_kept.value, logits_.logits});
    if (costs_.logits_backward != costs_.logits_forward && !alive.empty()) {
      // The last copy is what the backward pass reads; the others made room for gradients.
      Held last = std::exchange(alive.back(), Held{});
      arena_.Drop(alive);
      const Bytes rest = costs_.logits_backward - arena_.BytesOf(last);
      if (rest.value < 0) arena_.Drop(last);
      alive = Logits(rest.value < 0 ? costs_.logits_backward : rest);
      alive.push_back(last);
    }
    Held head_gradient;
    if (job_.conventions.head_gradient_at_loss)
      head_gradient =
          arena_.Hold({job_.conventions.gather_bytes * HeadParameters(), logits_.head_gradient});
    Mark("loss backward");
    arena_.Drop(head_gradient);
    // In place where there is but one tensor.
    if (alive.size() <= 1) return alive.empty() ? Held{} : alive.front();
    const Held last = std::exchange(alive.back(), Held{});
    arena_.Drop(alive);
    Held gradient = arena_.Hold({job_.conventions.compute_bytes * tape_.logits, logits_.gradient});
    alive = {last};
    arena_.Drop(alive);
    return gradient;
  }

  double HeadParameters() const {
    const bool tied = job_.model->facts.tied_embeddings;
    return costs_.head.dense_parameters + (tied ? costs_.embedding.dense_parameters : 0);
  }

  // A 16-bit tensor and fp32 ones: what is left over four bytes a logit comes first.
  std::vector<Held> Logits(Bytes bytes) {
    const double copy = 4 * tape_.logits, copies = std::floor(bytes.value / copy + 1e-6);
    std::vector<Held> tensors;
    if (const double rest = bytes.value - copies * copy; rest > 1e-6 * copy)
      tensors.push_back(arena_.Hold({rest, logits_.logits}));
    for (int i = 0; i < static_cast<int>(copies); ++i)
      tensors.push_back(arena_.Hold({copy, logits_.copies}));
    return tensors;
  }

  void Mark(std::string when) {
    if (shows_)
      series_.push_back({std::move(when), Bytes{static_cast<double>(arena_.TakePeak())},
                         Bytes{static_cast<double>(arena_.allocator().now().reserved)}});
  }

  // A few points in each pass, by the last layer walked.
  void MarkLayer(const char* pass, std::size_t number, std::size_t layer, std::size_t layers) {
    if (!shows_) return;
    const std::size_t points = tape_.passes.size() > 4 ? 1 : kPointsAPass;
    const std::size_t done = pass[0] == 'f' ? layer + 1 : layers - layer;
    if (done * points / layers == (done - 1) * points / layers) return;
    Mark(tape_.passes.size() == 1 ? fmt::format("{}, layer {}", pass, layer + 1)
                                  : fmt::format("{} {}, layer {}", pass, number + 1, layer + 1));
  }

  StageReplay Result() const {
    const CachingAllocator::Usage& peak = arena_.allocator().peak();
    const auto bytes = [](std::uint64_t value) { return Bytes{static_cast<double>(value)}; };
    StageReplay result{.allocated = bytes(peak.allocated),
                       .reserved = bytes(peak.reserved),
                       .pinned = bytes(peak.pinned),
                       .series = series_,
                       .at_peak = {}};
    for (std::size_t i = 0; i < arena_.at_peak().size(); ++i) {
      const Label& label = tape_.labels.all()[i];
      if (arena_.at_peak()[i] > 0)
        result.at_peak.push_back({label.part, label.op, label.what, bytes(arena_.at_peak()[i])});
    }
    std::stable_sort(result.at_peak.begin(), result.at_peak.end(),
                     [](const Contributor& a, const Contributor& b) { return a.bytes > b.bytes; });
    return result;
  }

  const Job& job_;
  const LayersCost& costs_;
  const StatePerPolicy policy_;
  StageTape tape_;
  const LogitIds logits_;
  Arena arena_;
  ReplayState state_;
  BlockWalk walk_;
  const bool full_, piped_;
  std::deque<ChunkPass> flying_;
  Held sent_, kept_logits_;
  std::vector<StageMemory::Point> series_;
  bool shows_ = false;
};
}  // namespace

StageReplay ReplayStage(const Job& job, const LayersCost& layers, const StageCost& stage,
                        const StageLoad& load, const Plan& plan, int most_layer_passes) {
  return StageWalk(job, layers, stage, load, plan, most_layer_passes).Run();
}
}  // namespace shardplan
