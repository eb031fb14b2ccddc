// SPDX-License-Identifier: Apache-2.0
// One stage of a plan laid out for the allocator's replay: its blocks as tapes, its chunks, and how
// many micro batches are in flight. Private to planner/cost.
#pragma once
#include <memory>
#include <vector>

#include "planner/cost/tape.h"

namespace shardplan {

struct StageTape {
  // A layer that stands for `layers` alike ones: what they keep is walked as one tensor of their
  // size, what only one of them has at a time as it is.
  struct Layer {
    const BlockTape* tape = nullptr;
    int unit = 0, layers = 1;
  };
  using Chunk = std::vector<Layer>;

  Labels labels;
  std::vector<std::unique_ptr<BlockTape>> tapes;          // what all below points into
  const BlockTape *embedding = nullptr, *head = nullptr;  // null: on another stage
  std::vector<Chunk> chunks;
  Chunk mtp;
  // What is gathered and reduced at once: layers, and the root. Under FSDP embedding and head are
  // one unit.
  std::vector<Layer> units;
  int embedding_unit = -1, head_unit = -1;
  int table_unit = -1;  // the copy of the embedding beside a tied or shared head
  double logits = 0;    // of one micro batch on this rank
  // Passes of chunks in a step, by how many micro batches each stands for, and how many of them
  // are in flight at once.
  std::vector<int> passes;
  int in_flight = 1;
};

// Passes of layers in flight beyond `most_layer_passes` are taken together.
StageTape LayOut(const Job& job, const Plan& plan, int stage, int most_layer_passes);
}  // namespace shardplan
