// SPDX-License-Identifier: Apache-2.0
// What a report speaks of: the parts of a spec that its headlines and JSON repeat.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "planner/framework/training.h"
#include "planner/machine/machine.h"
#include "planner/model/graph.h"

namespace shardplan {

// REQUIRES: what is pointed to outlives the subject.
struct Subject {
  std::string title;  // name of the model
  const Model* model = nullptr;
  const Machine* machine = nullptr;
  const Training* training = nullptr;
  Bytes memory_reserve;            // kept free on every GPU
  std::vector<std::string> notes;  // what a reader must know of the model
  std::string spec_hash;
  std::string version;  // of shardplan
};

std::string_view Name(Precision precision);

// The first lines of a report:
// "llama-70b on 64 x h200-sxm (8 per node), global_batch_size 1024, bf16-mixed, megatron 0.14"
std::string Headline(const Subject& subject);
// "note: ...", a line a note.
std::string NoteLines(const Subject& subject);

// "datasheet"; "measured" where a profile corrects kernels and, if there are several GPUs,
// collectives; "mixed" where only one of them.
std::string_view Basis(const Machine& machine);

// The last line of every report: where its numbers come from.
std::string BasisLine(const Machine& machine);
}  // namespace shardplan
