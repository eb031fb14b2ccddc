// SPDX-License-Identifier: Apache-2.0
// A plan: three groups of choices, in the order in which the search binds them.
//
// Plain values. What each axis is called in YAML and JSON, how it prints and which values the
// search tries is in plan/axes.h. `dp` never contains `cp`.
#pragma once
#include <cstdint>
#include <vector>

namespace shardplan {

enum class CpKind : std::uint8_t { kRing, kUlysses, kAllGather };
enum class Schedule : std::uint8_t { kGpipe, k1F1B, kInterleaved, kZbH1, kZbV, kDualPipe };
enum class RecomputeKind : std::uint8_t { kNone, kSelective, kFull, kModules, kLayers };
enum class Offload : std::uint8_t { kNone, kOptimizer, kOptimizerAndParams, kActivations };
enum class OffloadTo : std::uint8_t { kCpu, kNvme };

struct Recompute {
  RecomputeKind kind = RecomputeKind::kNone;
  std::uint32_t modules = 0;               // bits of model/graph.h's Module, for kModules
  std::vector<int> layers;                 // kLayers: one number for the whole model, or one a stage
  bool operator==(const Recompute&) const = default;
};

// How one layer is cut.
struct Sharding {
  int tp = 1, cp = 1, ep = 1, etp = 1;
  CpKind cp_kind = CpKind::kRing;
  bool sp = false;                         // Megatron sequence parallelism
  int micro_batch_size = 1;                // sequences per data-parallel rank and pass
  Recompute recompute;
  bool operator==(const Sharding&) const = default;
};

// How layers lie on the world.
struct Placement {
  int pp = 1, vpp = 1, dp = 1;
  Schedule schedule = Schedule::k1F1B;
  std::vector<int> stage_layers;           // empty: as the framework splits
  int microbatches = 1;                    // derived: global batch / (dp * micro batch)
  bool operator==(const Placement&) const = default;
};

struct Overlap {
  bool grad_reduce = false, param_gather = false, tp = false, p2p = false, moe = false;
  bool operator==(const Overlap&) const = default;
};

// How state and traffic are handled.
struct Policy {
  int zero_stage = 0;                      // 0..3; 3 = FSDP full shard
  int zero_group = 0;                      // ranks that share one shard; 0: all of dp*cp
  Offload offload = Offload::kNone;
  OffloadTo offload_to = OffloadTo::kCpu;
  Overlap overlap;
  bool operator==(const Policy&) const = default;
};

struct Plan {
  Sharding sharding;
  Placement placement;
  Policy policy;
  bool operator==(const Plan&) const = default;
};
}  // namespace shardplan
