// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/zero_bubble.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include "planner/base/check.h"

namespace shardplan {
namespace {

enum Kind : std::size_t { kForward, kInputGradient, kWeightGradient, kKinds };

// One chunk of layers on a stage: how long its work takes and how many micro batches are through.
struct Chunk {
  std::size_t stage = 0;
  std::array<double, kKinds> length{};
  std::array<int, kKinds> begun{}, done{};
};

struct Work {
  Kind kind;
  std::size_t chunk;
};

class Play {
 public:
  Play(Schedule schedule, const std::vector<StageTimes>& stages, int microbatches)
      : microbatches_(microbatches), held_(stages.size()), working_(stages.size()) {
    const std::size_t pp = stages.size(), folds = schedule == Schedule::kZbV ? 2 : 1;
    for (std::size_t c = 0; c < pp * folds; ++c) {
      Chunk chunk;
      chunk.stage = c < pp ? c : 2 * pp - 1 - c;
      const double forward = stages[chunk.stage].forward.value / double(folds),
                   backward = stages[chunk.stage].backward.value / double(folds);
      // A weight gradient is one product where the input gradient is one too.
      const double weight = std::min(forward, backward / 2);
      chunk.length = {forward, backward - weight, weight};
      chunks_.push_back(chunk);
    }
    for (std::size_t s = 0; s < pp; ++s) held_[s] = static_cast<int>(folds == 2 ? 2 * pp : pp - s);
  }

  double Run() {
    double now = 0;
    for (;;) {
      for (std::size_t s = 0; s < working_.size(); ++s)
        if (!working_[s]) Begin(s, now);
      if (ends_.empty()) break;
      now = ends_.top().first;
      while (!ends_.empty() && ends_.top().first <= now) Finish();
    }
    for (const Chunk& chunk : chunks_)
      SHARDPLAN_CHECK(chunk.done[kWeightGradient] == microbatches_);  // nobody waits for ever
    return now;
  }

 private:
  bool IsReady(Kind kind, std::size_t c) const {
    const Chunk& chunk = chunks_[c];
    const int next = chunk.begun[kind];
    if (next == microbatches_) return false;
    switch (kind) {
      case kForward:
        return (c == 0 || chunks_[c - 1].done[kForward] > next) && MayHold(c);
      case kInputGradient:
        return c + 1 == chunks_.size() ? chunk.done[kForward] > next
                                       : chunks_[c + 1].done[kInputGradient] > next;
      case kWeightGradient:
        return chunk.done[kInputGradient] > next;
      case kKinds:
        break;
    }
    return false;
  }

  // What came back up the V must go on, or nothing on this stage would ever be freed.
  bool MayHold(std::size_t c) const {
    if (c >= working_.size()) return true;
    int held = 0;
    for (const Chunk& chunk : chunks_)
      if (chunk.stage == chunks_[c].stage)
        held += chunk.begun[kForward] - chunk.done[kInputGradient];
    return held < held_[chunks_[c].stage];
  }

  void Begin(std::size_t stage, double now) {
    for (const Kind kind : {kInputGradient, kForward, kWeightGradient})
      for (std::size_t c = chunks_.size(); c-- > 0;) {
        if (chunks_[c].stage != stage || !IsReady(kind, c)) continue;
        ++chunks_[c].begun[kind];
        working_[stage] = Work{kind, c};
        ends_.push({now + chunks_[c].length[kind], stage});
        return;
      }
  }

  void Finish() {
    const std::size_t stage = ends_.top().second;
    ends_.pop();
    const Work& work = *working_[stage];
    ++chunks_[work.chunk].done[work.kind];
    working_[stage].reset();
  }

  int microbatches_;
  std::vector<Chunk> chunks_;  // in the order of the model
  std::vector<int> held_;      // micro batches of chunks that a stage may hold
  std::vector<std::optional<Work>> working_;
  using End = std::pair<double, std::size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};
}  // namespace

Seconds SimulateZeroBubble(Schedule schedule, const std::vector<StageTimes>& stages,
                           int microbatches) {
  return {Play(schedule, stages, microbatches).Run()};
}
}  // namespace shardplan
