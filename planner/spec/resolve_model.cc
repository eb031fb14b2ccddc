// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "planner/model/config.h"
#include "planner/model/families.h"
#include "planner/spec/free_value.h"
#include "planner/spec/reader.h"
#include "planner/spec/resolve.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// What the spec's own keys override: a config.json, a preset, or a mapping inline.
struct Base {
  google::protobuf::Struct keys;
  std::string title;
  SourceMap map;  // of the file that holds them; empty where they stand in the spec
};

// `config: llama-3-70b/config.json` and `config: llama-3-70b/` are both called llama-3-70b.
std::string TitleOf(const fs::path& file) {
  const fs::path whole = fs::absolute(file).lexically_normal();
  return file.filename() == "config.json" ? whole.parent_path().filename().string()
                                          : whole.stem().string();
}

Result<Base> ReadConfig(const SpecText& text, const v1::ModelConfig& config) {
  if (!config.has_path()) return Base{.keys = config.keys()};
  if (config.has_keys())
    return text.Fail("model.config", "path and keys of a config are both given", "keep one");
  const Reference from = text.Refer("model.config");
  // A --set argument is typed in a shell, where the working directory counts.
  const bool typed = from.place && from.place.source->is_argument;
  fs::path file = (typed ? fs::path() : fs::path(text.directory)) / config.path();
  std::error_code error;
  if (fs::is_directory(file, error)) file /= "config.json";
  const Result<SourcePtr> source = ReadSource(file.string(), from);
  if (!source) return tl::unexpected(source.error());
  Base base{.title = TitleOf(file)};
  v1::ModelConfig keys;
  if (Result<void> read = ReadMessage(*source, &keys, &base.map); !read)
    return tl::unexpected(read.error());
  base.keys = keys.keys();
  return base;
}

Result<Base> ReadPreset(const SpecText& text, const std::string& name) {
  Base base{.title = name};
  v1::ModelConfig keys;
  const Result<void> read = ReadEntry("models", name, text.Refer("model.preset"), &keys, &base.map);
  if (!read) {
    // A well-known model of a family that has no builder: that is the news, not the spelling.
    if (const auto missing = MissingFamilyOf(name)) {
      const Reference from = text.Refer("model.preset");
      return InvalidAt(from.place, from.path,
                       fmt::format("{} is a {}, which is not supported: {}", Shown(name), *missing,
                                   *WhyNoFamily(*missing)),
                       "");
    }
    return tl::unexpected(read.error());
  }
  base.keys = keys.keys();
  return base;
}

// Points at the key at fault, in the spec or in the file that it came from.
tl::unexpected<Error> Refuse(const SpecText& text, const Base& base, const ConfigProblem& problem) {
  const auto at = [&](const Place& place, const std::string& path) {
    return InvalidAt(place, path, problem.message, problem.hint);
  };
  const auto part = [&](const Places& places) { return problem.about_key ? places.key : places.value; };
  if (problem.key.empty()) {
    if (const Places* file = base.map.Find("")) return at(file->key, "");
    const Places* section = text.map.Find("model");
    return at(section ? section->key : Place{}, "model");
  }
  const std::string own = "model." + problem.key, inlined = "model.config." + problem.key;
  if (const Places* places = text.map.Find(own)) return at(part(*places), own);
  if (const Places* places = base.map.Find(problem.key)) return at(part(*places), problem.key);
  if (const Places* places = text.map.Find(inlined)) return at(part(*places), inlined);
  return at(text.map.ValueOrParent(own), own);
}

}  // namespace

Result<ResolvedModel> ResolveModel(SpecText& text, const std::string& fallback) {
  v1::Model& from = *text.spec.mutable_model();
  if (from.parts_size() > 0)
    return text.Fail("model.parts", "several models in one job are not supported yet",
                     "describe one model by preset, config or its keys");
  if (from.has_config() && from.has_preset())
    return text.Fail("model.preset", "config and preset are both given", "keep one");
  const json own = JsonOf(from.keys());
  const bool by_hand = !from.has_config() && !from.has_preset();
  if (by_hand && own.empty())
    return text.Fail("model", "missing",
                     "give preset (a file in configs/models), config (a config.json) or model_type "
                     "with its keys");

  Base base;
  if (!by_hand) {
    Result<Base> read =
        from.has_config() ? ReadConfig(text, from.config()) : ReadPreset(text, from.preset());
    if (!read) return tl::unexpected(read.error());
    base = std::move(*read);
  }
  json keys = by_hand ? own : JsonOf(base.keys);
  if (!by_hand && !own.empty()) {
    const auto merged = OverrideConfig(keys, own);
    if (!merged) return Refuse(text, base, merged.error());
    keys = *merged;
  }
  // The title is no part of what is kept: a spec keeps its hash when its file is renamed.
  json named = keys;
  const std::string title = base.title.empty() ? fallback : base.title;
  if (!named.contains("name") && !title.empty()) named["name"] = title;
  const auto shape = ShapeFromConfig(named, by_hand);
  if (!shape) return Refuse(text, base, shape.error());

  from.Clear();
  *from.mutable_keys() = StructOf(keys);
  return ResolvedModel{.title = shape->name,
                       .model = BuildDecoder(*shape),
                       .shape = *shape,
                       .keys = std::move(keys),
                       .notes = shape->notes};
}
}  // namespace shardplan
