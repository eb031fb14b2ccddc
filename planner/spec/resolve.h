// SPDX-License-Identifier: Apache-2.0
// From the spec's message to the values that the core works on: catalogues looked up, defaults
// filled in, what is not supported refused by name.
//
// One function a section. Each writes what it resolved (the model's keys after overrides, the
// cluster after its preset) back into `text.spec`, so that the spec's hash covers it.
#pragma once
#include <string>

#include "planner/spec/problem.h"
#include "planner/spec/spec_text.h"

namespace shardplan {

struct ResolvedModel {
  std::string title;
  Model model;
  DecoderShape shape;
  nlohmann::json keys;  // after overrides
  std::vector<std::string> notes;
};
// `fallback` is the title of a model by hand without a name.
Result<ResolvedModel> ResolveModel(SpecText& text, const std::string& fallback);
Result<Machine> ResolveCluster(SpecText& text);
// `family` of the model, which decides some defaults.
Result<Training> ResolveTrain(const SpecText& text, const std::string& family);
Result<Wishes> ResolvePlan(const SpecText& text);
SearchOptions ResolveSearch(const SpecText& text);
}  // namespace shardplan
