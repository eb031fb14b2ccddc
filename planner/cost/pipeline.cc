// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/pipeline.h"

#include <algorithm>
#include <cstddef>

#include "planner/base/check.h"
#include "planner/cost/zero_bubble.h"

namespace shardplan {
namespace {

struct Work {
  int microbatch = 0, chunk = 0;
  bool forward = true;
};

// Micro batches that go through all chunks together: pp of them, or more where they make fewer
// rounds (torch.distributed.pipelining), all where there are fewer than pp.
int GroupOf(int pp, int microbatches) {
  const int rounds = std::max(1, microbatches / pp);
  return (microbatches + rounds - 1) / rounds;
}

// The order in which stage `stage` works (Megatron's schedule table; non-interleaved is one chunk).
// REQUIRES: microbatches is a multiple of GroupOf(pp, microbatches).
std::vector<Work> OrderOf(Schedule schedule, int stage, int pp, int vpp, int microbatches) {
  std::vector<Work> forwards, order;
  const int group = GroupOf(pp, microbatches);
  for (int begin = 0; begin < microbatches; begin += group)
    for (int chunk = 0; chunk < vpp; ++chunk)
      for (int m = begin; m < std::min(begin + group, microbatches); ++m)
        forwards.push_back({m, chunk, true});
  const int total = static_cast<int>(forwards.size());
  int warm_up = schedule == Schedule::kGpipe ? total
                : vpp > 1                    ? (pp - stage - 1) * 2 + (vpp - 1) * group
                                             : pp - stage - 1;
  warm_up = std::min(warm_up, total);
  const auto backward = [&](int i) {
    Work work = forwards[static_cast<std::size_t>(i)];
    work.forward = false;
    work.chunk = vpp - 1 - work.chunk;
    return work;
  };
  order.reserve(forwards.size() * 2);
  for (int i = 0; i < warm_up; ++i) order.push_back(forwards[static_cast<std::size_t>(i)]);
  for (int i = warm_up; i < total; ++i) {
    order.push_back(forwards[static_cast<std::size_t>(i)]);
    order.push_back(backward(i - warm_up));
  }
  for (int i = total - warm_up; i < total; ++i) order.push_back(backward(i));
  return order;
}

double PlayOut(Schedule schedule, const std::vector<StageTimes>& stages, double p2p, int vpp,
               int microbatches) {
  const int pp = static_cast<int>(stages.size());
  const auto at = [&](int stage, int chunk, int microbatch) {
    return (static_cast<std::size_t>(stage) * static_cast<std::size_t>(vpp) +
            static_cast<std::size_t>(chunk)) *
               static_cast<std::size_t>(microbatches) +
           static_cast<std::size_t>(microbatch);
  };
  const std::size_t cells = static_cast<std::size_t>(pp) * static_cast<std::size_t>(vpp) *
                            static_cast<std::size_t>(microbatches);
  std::vector<double> forward_end(cells, -1), backward_end(cells, -1), clock(stages.size(), 0);
  std::vector<std::size_t> next(stages.size(), 0);
  std::vector<std::vector<Work>> orders;
  for (int s = 0; s < pp; ++s) orders.push_back(OrderOf(schedule, s, pp, vpp, microbatches));
  // When the input of a piece of work is there; negative: not yet.
  const auto ready = [&](int s, const Work& w) {
    if (w.forward) {
      if (s > 0) return forward_end[at(s - 1, w.chunk, w.microbatch)];
      return w.chunk == 0 ? 0.0 : forward_end[at(pp - 1, w.chunk - 1, w.microbatch)];
    }
    if (s < pp - 1) return backward_end[at(s + 1, w.chunk, w.microbatch)];
    return w.chunk == vpp - 1 ? forward_end[at(s, w.chunk, w.microbatch)]
                              : backward_end[at(0, w.chunk + 1, w.microbatch)];
  };
  double end = 0;
  for (bool progress = true; progress;) {
    progress = false;
    for (int s = 0; s < pp; ++s) {
      const std::size_t stage = static_cast<std::size_t>(s);
      while (next[stage] < orders[stage].size()) {
        const Work& work = orders[stage][next[stage]];
        const double input = ready(s, work);
        if (input < 0) break;
        const bool local = (work.forward && s == 0 && work.chunk == 0) ||
                           (!work.forward && s == pp - 1 && work.chunk == vpp - 1);
        const double start = std::max(clock[stage], input + (local || pp == 1 ? 0 : p2p));
        const double length =
            (work.forward ? stages[stage].forward : stages[stage].backward).value / vpp;
        clock[stage] = start + length;
        (work.forward ? forward_end : backward_end)[at(s, work.chunk, work.microbatch)] =
            clock[stage];
        end = std::max(end, clock[stage]);
        ++next[stage];
        progress = true;
      }
    }
  }
  for (std::size_t s = 0; s < orders.size(); ++s)
    SHARDPLAN_CHECK(next[s] == orders[s].size());  // a schedule that waits for itself
  return end;
}
}  // namespace

double InFlight(Schedule schedule, int stage, int pp, int vpp, int microbatches) {
  const double m = microbatches;
  switch (schedule) {
    case Schedule::kGpipe:
      return m;
    case Schedule::k1F1B:
    case Schedule::kZbH1:
      return std::min<double>(pp - stage, m);
    case Schedule::kInterleaved: {
      const double chunks = (pp - stage - 1) * 2 + (vpp - 1) * pp + 1;
      return std::min(chunks, m * vpp) / vpp;
    }
    case Schedule::kZbV:
      return std::min<double>(pp, m);
    case Schedule::kDualPipe:
      return std::min<double>(pp + 1, m);
  }
  return m;
}

Seconds LeastPipelineTime(Schedule schedule, const StageTimes& own, Seconds before, Seconds after,
                          int later_stages, int vpp, int microbatches) {
  const double m = microbatches;
  const Seconds work = m * (own.forward + own.backward);
  switch (schedule) {
    case Schedule::kGpipe:
      return before + work;
    case Schedule::k1F1B: {
      if (microbatches > later_stages) {
        // Between its first forward and first backward the stage has later_stages more forwards to
        // do; as many backwards between its last forward and last backward. It waits for what is
        // longer.
        return before + work + Max(after - later_stages * own.forward, Seconds{}) +
               Max(after - later_stages * own.backward, Seconds{});
      }
      return before + Max(own.forward + Max(after, (m - 1) * own.forward) + m * own.backward,
                          m * own.forward + after + own.backward);
    }
    case Schedule::kInterleaved:
      return before / vpp + work;
    // Weight gradients fill the bubble (arXiv 2401.10241), but not before the first forward has
    // come: a quarter of the earlier work even where all of it is recomputed.
    case Schedule::kZbH1:
      return before / 4 + work;
    case Schedule::kZbV:
      return work;
    case Schedule::kDualPipe:
      return before / 6 + work;
  }
  return work;
}

Seconds SimulatePipeline(Schedule schedule, const std::vector<StageTimes>& stages, Seconds p2p,
                         int vpp, int microbatches) {
  const int pp = static_cast<int>(stages.size());
  // In the steady state each further micro batch costs the slowest stage's work: play out a few
  // groups and extend, or round up to whole groups and take the rest off again.
  int played = microbatches > 4 * pp ? 3 * pp + microbatches % pp : microbatches;
  const bool zero_bubble = schedule == Schedule::kZbH1 || schedule == Schedule::kZbV;
  if (vpp > 1 && !zero_bubble) {
    const int group = GroupOf(pp, played);
    played = (played + group - 1) / group * group;
    while (played % GroupOf(pp, played) != 0) ++played;
  }
  Seconds slowest;
  for (const StageTimes& s : stages) slowest = Max(slowest, s.forward + s.backward);
  const Seconds length = zero_bubble ? SimulateZeroBubble(schedule, stages, played)
                                     : Seconds{PlayOut(schedule, stages, p2p.value, vpp, played)};
  return length + slowest * double(microbatches - played);
}
}  // namespace shardplan
