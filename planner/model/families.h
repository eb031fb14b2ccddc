// SPDX-License-Identifier: Apache-2.0
// The families of decoder-only language models: one row each in one table.
//
// A row says what the keys of a config.json mean for one class of transformers: its own names for
// them, its defaults, and the shape that its modeling code builds. All else about a model follows
// from the shape, so a new family is a row here and nothing anywhere else.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "planner/model/decoder.h"

namespace shardplan {

class ConfigReader;

// A family's own name of a key, and the name that Llama or Mixtral gave it.
struct KeyAlias {
  std::string_view own, common;
};

struct Family {
  std::string_view model_type;
  std::vector<std::string_view> also;     // other model_types with the same language model
  std::vector<std::string_view> classes;  // `architectures` entries, for files without model_type
  std::vector<KeyAlias> aliases;
  // Every key that the family reads, by its common name, with the value where the key is absent;
  // null: derived from other keys. Mappings are nested configs.
  nlohmann::json defaults;
  DecoderShape (*shape)(const ConfigReader& config);
};

const std::vector<Family>& Families();
// By model_type or one of the `also`; null: none such.
const Family* FindFamily(std::string_view model_type);
const Family* FindFamilyByClass(std::string_view architecture);

// A model_type that has no row because it is no decoder-only transformer: what it is instead.
std::optional<std::string_view> WhyNoFamily(std::string_view model_type);
// The same for a model's name ("resnet-50", "stable-diffusion-v1"): the model_type it begins with,
// or is known for.
std::optional<std::string_view> MissingFamilyOf(std::string_view model_name);
}  // namespace shardplan
