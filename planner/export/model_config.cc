// SPDX-License-Identifier: Apache-2.0
#include "planner/export/model_config.h"

#include <set>

#include "planner/model/families.h"

namespace shardplan {
namespace {

std::optional<double> NumberAt(const Json& config, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const auto at = config.find(key); at != config.end() && at->is_number())
      return at->get<double>();
  return std::nullopt;
}

// Labels of a spec that no class of transformers knows.
const std::set<std::string> kOurs{"name", "source", "published_parameters"};
}  // namespace

std::optional<double> RotaryBase(const Json& config) {
  if (const auto at = config.find("rope_parameters"); at != config.end() && at->is_object())
    if (const auto base = NumberAt(*at, {"rope_theta"})) return base;
  return NumberAt(config, {"rope_theta", "rotary_emb_base"});
}

std::optional<double> RotaryShare(const Json& config) {
  return NumberAt(config, {"partial_rotary_factor", "rotary_pct"});
}

std::optional<double> NormEpsilon(const Json& config) {
  return NumberAt(config, {"rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "norm_epsilon"});
}

File ModelConfigFile(const ExportJob& job) {
  const Family* family = FindFamily(job.shape.family);
  Json written;
  for (const auto& [key, value] : job.config.items()) {
    if (kOurs.count(key) > 0) continue;
    std::string own = key;
    if (family != nullptr)
      for (const KeyAlias& alias : family->aliases)
        if (alias.common == key) own = std::string(alias.own);
    written[own] = value;
  }
  if (!written.contains("model_type")) written["model_type"] = job.shape.family;
  return {"config.json", written.dump(2) + "\n"};
}
}  // namespace shardplan
