// SPDX-License-Identifier: Apache-2.0
// From config.json keys to the shape of a model.
//
// A config is a JSON object in the key names of Hugging Face's config.json, from such a file or
// from a spec. model_type names the family, which knows its keys and their defaults (families.h);
// nothing here does. A config of a multimodal model stands for its language model (`text_config`).
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "planner/model/decoder.h"

namespace shardplan {

struct ConfigProblem {
  std::string key;      // path of the key at fault ("attn_config.alibi"); empty: the whole config
  std::string message;  // what is wrong, one line that reads on from "key: "
  std::string hint;     // what was expected and what works, one line or empty
  bool about_key = false;  // the key does not belong there; else its value is at fault
};

// `hand_written`: the keys come from a spec, and one that the family does not read is an error.
// Else they come from a config.json, which holds dozens of keys that change no cost: those are
// ignored. GUARANTEES: whatever the values, a shape that BuildDecoder accepts or a problem.
tl::expected<DecoderShape, ConfigProblem> ShapeFromConfig(const nlohmann::json& config,
                                                          bool hand_written);

// `base` (a config.json or a preset) with the keys of `overrides` (from a spec) in place of its
// own, also where the two call the same thing by different names, or `base` keeps it in
// text_config.
tl::expected<nlohmann::json, ConfigProblem> OverrideConfig(nlohmann::json base,
                                                           const nlohmann::json& overrides);

std::vector<std::string> KnownModelTypes();
std::vector<std::string> KnownConfigKeys();  // of any family, sorted
}  // namespace shardplan
