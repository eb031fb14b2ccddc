// SPDX-License-Identifier: Apache-2.0
#include "planner/model/config.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "planner/base/nearest.h"
#include "planner/model/config_reader.h"
#include "planner/model/families.h"

namespace shardplan {
namespace {

using Json = nlohmann::json;

// What a config says about itself, whatever its family.
constexpr std::string_view kLabels[] = {"model_type", "architectures", "name", "source",
                                        "published_parameters"};
// Keys of config.json that people copy into a spec, though no cost depends on them.
constexpr std::string_view kCostless[] = {"rope_theta",        "rope_scaling",
                                          "rope_parameters",   "rms_norm_eps",
                                          "layer_norm_eps",    "layer_norm_epsilon",
                                          "torch_dtype",       "dtype",
                                          "initializer_range", "use_cache",
                                          "bos_token_id",      "eos_token_id",
                                          "pad_token_id",      "transformers_version",
                                          "norm_topk_prob",    "routed_scaling_factor",
                                          "scoring_func",      "topk_method",
                                          "n_group",           "topk_group",  // V2's
                                          "pretraining_tp",    "partial_rotary_factor",
                                          "rotary_pct",        "rotary_dim",
                                          "auto_map",          "query_pre_attn_scalar",
                                          "_name_or_path",     "router_aux_loss_coef",
                                          "attention_dropout", "attn_logit_softcapping",
                                          "aux_loss_alpha",    "final_logit_softcapping"};

bool IsIn(std::string_view key, const auto& keys) {
  return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// Without the second names of a row.
std::string KnownFamilies() {
  std::vector<std::string> names;
  for (const Family& family : Families()) names.emplace_back(family.model_type);
  return "known: " + Joined(names);
}

tl::unexpected<ConfigProblem> Problem(std::string key, std::string message, std::string hint) {
  return tl::unexpected<ConfigProblem>(
      ConfigProblem{std::move(key), std::move(message), std::move(hint)});
}

const Json* MappingAt(const Json& config, const char* key) {
  const auto at = config.find(key);
  return at != config.end() && at->is_object() ? &*at : nullptr;
}

const Family* FamilyByClass(const Json& config) {
  const auto classes = config.find("architectures");
  if (classes == config.end() || !classes->is_array() || classes->empty()) return nullptr;
  const Json& first = classes->front();
  return first.is_string() ? FindFamilyByClass(first.get_ref<const std::string&>()) : nullptr;
}

// The common names of what the family reads, and its own.
std::vector<std::string> KeysOf(const Family& family) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : family.defaults.items()) keys.push_back(key);
  for (const KeyAlias& alias : family.aliases) keys.emplace_back(alias.own);
  return keys;
}

std::vector<std::string> FamiliesThatRead(const std::string& key) {
  std::vector<std::string> names;
  for (const Family& family : Families())
    if (IsIn(key, KeysOf(family))) names.emplace_back(family.model_type);
  return names;
}

// `key` is some other family's own name of a key in `keys`; empty: it is not.
std::string NameHere(std::string_view key, const std::vector<std::string>& keys) {
  for (const Family& family : Families())
    for (const KeyAlias& alias : family.aliases)
      if (alias.own == key && IsIn(alias.common, keys)) return std::string(alias.common);
  return {};
}

std::string HintForUnreadKey(const Family& family, const std::string& key,
                             const std::vector<std::string>& keys) {
  const std::string here = NameHere(key, keys);
  if (!here.empty()) return "here it is called " + here;
  const std::vector<std::string> near = NearestWords(key, keys);
  const std::string nearest = near.empty() ? "" : near.front();
  std::vector<std::string> readers = FamiliesThatRead(key);
  if (readers.size() > 4) readers.resize(4);
  if (!readers.empty())
    return "it is a key of " + Joined(readers) +
           (nearest.empty() ? "" : "; the nearest one here is " + nearest);
  if (!nearest.empty()) return "did you mean " + nearest + "?";
  if (IsIn(key, kCostless))
    return "no cost depends on it: leave it out, or give the whole file as config";
  return std::string(family.model_type) + " reads " + Joined(keys);
}

std::optional<ConfigProblem> FindUnreadKey(const Family& family, const Json& config) {
  const std::vector<std::string> keys = KeysOf(family);
  for (const auto& [key, value] : config.items()) {
    const auto nested = family.defaults.find(key);
    if (nested != family.defaults.end() && nested->is_object() && value.is_object()) {
      for (const auto& [inner, ignored] : value.items()) {
        if (nested->contains(inner)) continue;
        std::vector<std::string> inner_keys;
        for (const auto& [name, fallback] : nested->items()) inner_keys.push_back(name);
        return ConfigProblem{key + "." + inner, "is not read by " + std::string(family.model_type),
                             key + " takes " + Joined(inner_keys), true};
      }
    } else if (!IsIn(key, kLabels) && !IsIn(key, keys)) {
      return ConfigProblem{key, "is not a key of " + std::string(family.model_type),
                           HintForUnreadKey(family, key, keys), true};
    }
  }
  return std::nullopt;
}

constexpr const char* kTying = "tie_word_embeddings";
// Where wrappers keep the config of their language model.
constexpr const char* kTextConfigs[] = {"text_config", "llm_config", "language_config"};

// Which family a config is of, and the mapping that holds its keys: the config or one inside it.
struct Subject {
  const Family* family = nullptr;
  const Json* config = nullptr;
  std::string nested;  // the key of the inner one; empty: none
};

tl::unexpected<ConfigProblem> UnknownFamily(std::string key, const std::string& name) {
  const std::string known = KnownFamilies();
  if (const std::optional<std::string_view> why = WhyNoFamily(name))
    return Problem(std::move(key), name + " is not supported: " + std::string(*why), known);
  const std::vector<std::string> near = NearestWords(name, KnownModelTypes());
  const std::string nearest = near.empty() ? "" : near.front();
  return Problem(std::move(key), "is \"" + name.substr(0, 40) + "\", which is no known family",
                 (nearest.empty() ? "" : "did you mean " + nearest + "? ") + known);
}

tl::expected<Subject, ConfigProblem> FindSubject(const Json& config) {
  if (!config.is_object())
    return Problem("", "a model's config is a mapping of keys",
                   "for example {model_type: llama, num_hidden_layers: 32, hidden_size: 4096}");
  const auto type = config.find("model_type");
  const bool typed = type != config.end() && !type->is_null();
  if (typed && !type->is_string()) return Problem("model_type", "is not a word", KnownFamilies());
  const std::string name = typed ? type->get<std::string>() : "";
  const Family* family = typed ? FindFamily(name) : FamilyByClass(config);

  // A wrapper of a language model: its own family, where the text says none.
  for (const char* key : kTextConfigs) {
    const Json* text = MappingAt(config, key);
    if (text == nullptr) continue;
    const auto inner = text->find("model_type");
    const bool inner_typed = inner != text->end() && inner->is_string();
    const std::string inner_name = inner_typed ? inner->get<std::string>() : "";
    const Family* inner_family = inner_typed ? FindFamily(inner_name) : family;
    if (inner_family != nullptr) return Subject{inner_family, text, key};
    if (inner_typed) return UnknownFamily(std::string(key) + ".model_type", inner_name);
  }
  if (family != nullptr) return Subject{family, &config, ""};
  if (!typed)
    return Problem("", "model_type is missing: it says what the other keys mean", KnownFamilies());
  return UnknownFamily("model_type", name);
}

// A wrapper's own level says what it wraps, and nothing about the language model.
std::optional<ConfigProblem> FindKeyBeside(const std::string& nested, const Json& config) {
  if (nested.empty()) return std::nullopt;
  for (const auto& [key, value] : config.items()) {
    if (IsIn(key, kLabels) || key == kTying || key.ends_with("_config")) continue;
    return ConfigProblem{key, "is not read beside " + nested, "put it into " + nested, true};
  }
  return std::nullopt;
}

// Tying stands on either level of a wrapper's config; the text's own word counts first.
void InheritTying(const Family& family, const Json& config, const Json& text, DecoderShape& shape,
                  std::optional<ConfigProblem>& problem) {
  const auto outer = config.find(kTying);
  const auto inner = text.find(kTying);
  if (outer == config.end() || !outer->is_boolean()) return;
  if (inner != text.end() && !inner->is_null()) return;
  const Json tying = {{kTying, *outer}};
  shape.tied = ConfigReader(family, tying, problem).Flag(kTying);
}

// Products of two keys that must fit an int, with room for a factor of a few.
void CheckProducts(const ConfigReader& reader, const DecoderShape& shape) {
  constexpr double kMost = 100'000'000;
  const auto refuse = [&](std::string_view key, double product, const char* what) {
    if (product > kMost)
      reader.Refuse(key, std::string("makes the ") + what + " wider than 100000000",
                    "no model is that wide; look for a slip in its factors");
  };
  const double qk = std::max(shape.head_dim, shape.qk_nope_head_dim + shape.qk_rope_head_dim);
  refuse("num_attention_heads", shape.heads * std::max<double>(qk, shape.v_head_dim), "attention");
}
}  // namespace

tl::expected<DecoderShape, ConfigProblem> ShapeFromConfig(const Json& config, bool hand_written) {
  const tl::expected<Subject, ConfigProblem> subject = FindSubject(config);
  if (!subject) return tl::unexpected<ConfigProblem>(subject.error());
  const Family& family = *subject->family;
  const std::string prefix = subject->nested.empty() ? "" : subject->nested + ".";
  const auto placed = [&](ConfigProblem problem) {
    problem.key = prefix + problem.key;
    return tl::unexpected<ConfigProblem>(std::move(problem));
  };
  if (hand_written) {
    if (std::optional<ConfigProblem> unread = FindUnreadKey(family, *subject->config))
      return placed(*std::move(unread));
    if (std::optional<ConfigProblem> unread = FindKeyBeside(subject->nested, config))
      return tl::unexpected<ConfigProblem>(*std::move(unread));
  }
  std::optional<ConfigProblem> problem;
  const ConfigReader reader(family, *subject->config, problem);
  DecoderShape shape = family.shape(reader);
  if (!problem) CheckProducts(reader, shape);
  if (!problem && !prefix.empty()) InheritTying(family, config, *subject->config, shape, problem);
  if (problem) return placed(*std::move(problem));

  shape.family = family.model_type;
  const auto name = config.find("name");
  shape.name = name != config.end() && name->is_string() ? name->get<std::string>() : shape.family;
  if (!prefix.empty() || MappingAt(config, "vision_config") != nullptr)
    shape.notes.emplace_back("only the language model is counted, not what is wrapped around it");
  return shape;
}

tl::expected<Json, ConfigProblem> OverrideConfig(Json base, const Json& overrides) {
  if (!overrides.is_object()) return Problem("", "overrides are a mapping of keys", "");
  // Another family has other defaults: nothing of the base would mean the same.
  if (const auto type = overrides.find("model_type");
      type != overrides.end() && (!base.is_object() || base.value("model_type", Json()) != *type))
    return Problem("model_type", "is not the one of the config that it overrides",
                   "leave it out, or give all keys by hand");
  const tl::expected<Subject, ConfigProblem> subject = FindSubject(base);
  if (!subject) return tl::unexpected<ConfigProblem>(subject.error());
  const Family& family = *subject->family;
  if (std::optional<ConfigProblem> unread = FindUnreadKey(family, overrides))
    return tl::unexpected<ConfigProblem>(*std::move(unread));
  Json& target = subject->nested.empty() ? base : base[subject->nested];
  const auto common = [&](std::string_view key) {
    for (const KeyAlias& alias : family.aliases)
      if (alias.own == key) return alias.common;
    return key;
  };
  for (const auto& [key, value] : overrides.items()) {
    if (IsIn(key, kLabels)) continue;
    std::vector<std::string> synonyms;
    for (const auto& [other, ignored] : target.items())
      if (other != key && common(other) == common(key)) synonyms.push_back(other);
    for (const std::string& synonym : synonyms) target.erase(synonym);
  }
  for (const auto& [key, value] : overrides.items()) {
    Json& place = IsIn(key, kLabels) ? base[key] : target[key];
    if (place.is_object() && value.is_object())
      place.update(value);
    else
      place = value;
  }
  return base;
}

std::vector<std::string> KnownModelTypes() {
  std::vector<std::string> names;
  for (const Family& family : Families()) {
    names.emplace_back(family.model_type);
    for (std::string_view other : family.also) names.emplace_back(other);
  }
  return names;
}

std::vector<std::string> KnownConfigKeys() {
  std::set<std::string> keys(std::begin(kLabels), std::end(kLabels));
  for (const Family& family : Families())
    for (std::string& key : KeysOf(family)) keys.insert(std::move(key));
  return {keys.begin(), keys.end()};
}
}  // namespace shardplan
