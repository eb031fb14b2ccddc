// SPDX-License-Identifier: Apache-2.0
// A spec, read and resolved: what the planner's core works on.
//
// ReadProblem is the only way from text to the core: YAML or JSON (or, later, the gRPC message)
// becomes the Spec message, the message becomes domain values. The core knows neither.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/base/result.h"
#include "planner/framework/framework.h"
#include "planner/machine/machine.h"
#include "planner/model/decoder.h"
#include "planner/search/search.h"
#include "planner/space/space.h"

namespace shardplan {

struct Problem {
  std::string title;               // name of the model, for reports
  std::vector<std::string> notes;  // what the reader of a report must know of it
  Model model;
  DecoderShape shape;                 // of the model, for exporters
  nlohmann::ordered_json model_keys;  // its config after overrides
  Machine machine;
  Training training;
  Wishes wishes;
  SearchOptions search;
  Bytes memory_reserve;
  std::string spec_hash;  // of the normalized spec, for caches and provenance
};

// The problem as it is costed and searched, and the plan that its wishes fix where they are single.
// All refer to the problem, which must outlive them.
Job JobOf(const Problem& problem);
Space SpaceOf(const Problem& problem);
Plan FixedPlan(const Problem& problem);

// Which sections a command needs.
enum class Needs { kModel, kCluster, kAll };

// `path` is a file or "-" (standard input, given as `text` by the caller). `sets` are --set
// key=value.
Result<Problem> ReadProblem(const std::string& path, const std::vector<std::string>& sets,
                            Needs needs);
Result<Problem> ParseProblem(const std::string& text, const std::string& name,
                             const std::vector<std::string>& sets, Needs needs);
// Where configs/ lies: $SHARDPLAN_CONFIGS, beside the program's prefix, or the source tree.
std::string ConfigDirectory();
}  // namespace shardplan
