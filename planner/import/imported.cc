// SPDX-License-Identifier: Apache-2.0
#include "planner/import/imported.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/base/check.h"
#include "planner/spec/writer.h"
#include "planner/spec/yaml_json.h"

namespace shardplan {
namespace {

std::string Line(const Leftover& leftover) {
  const std::string where =
      leftover.line > 0 ? fmt::format("{}:{}: ", leftover.file, leftover.line) : "";
  return fmt::format("{}{}: {}", where, leftover.text, leftover.why);
}

std::size_t CountIdle(const Imported& imported) {
  return static_cast<std::size_t>(
      std::count_if(imported.leftovers.begin(), imported.leftovers.end(),
                    [](const Leftover& leftover) { return !leftover.matters; }));
}

Json SpecJson(const v1::Spec& spec) {
  const Result<YamlNode> tree = ParseYaml(MakeSource("spec", PrintYaml(spec)));
  SHARDPLAN_CHECK(tree.has_value());  // the writer's text is the reader's
  return JsonOf(*tree);
}

Json ListOf(const Imported& imported, bool matters) {
  Json list = Json::array();
  for (const Leftover& leftover : imported.leftovers)
    if (leftover.matters == matters)
      list.push_back({{"file", leftover.file},
                      {"line", leftover.line},
                      {"text", leftover.text},
                      {"why", leftover.why}});
  return list;
}
}  // namespace

std::string ImportedYaml(const Imported& imported) {
  std::string text;
  for (const std::string& format : imported.formats) text += "# from " + format + "\n";
  for (const Missing& missing : imported.missing)
    text += fmt::format("# missing: {}: {}\n", missing.key, missing.hint);
  for (const std::string& warning : imported.warnings) text += "# note: " + warning + "\n";
  for (const Leftover& leftover : imported.leftovers)
    text += fmt::format("# left, {}: {}\n", leftover.matters ? "may matter" : "does not matter",
                        Line(leftover));
  return text + PrintYaml(imported.spec, [&](const std::string& path) {
           const auto found = imported.origins.find(path);
           return found == imported.origins.end() ? std::string() : found->second;
         });
}

Json ImportedJson(const Imported& imported) {
  Json json{{"schema", kSchema}, {"spec", SpecJson(imported.spec)}, {"formats", imported.formats}};
  Json origins = Json::object();
  for (const auto& [key, origin] : imported.origins) origins[key] = origin;
  json["origins"] = std::move(origins);
  json["leftovers"] = {{"matter", ListOf(imported, true)},
                       {"do_not_matter", ListOf(imported, false)}};
  json["missing"] = Json::array();
  for (const Missing& missing : imported.missing)
    json["missing"].push_back({{"key", missing.key}, {"hint", missing.hint}});
  json["warnings"] = imported.warnings;
  return json;
}

std::string ImportedRemarks(const Imported& imported, bool all) {
  std::string text;
  for (const Missing& missing : imported.missing)
    text += fmt::format("missing: {}: {}\n", missing.key, missing.hint);
  for (const std::string& warning : imported.warnings) text += "note: " + warning + "\n";
  for (const Leftover& leftover : imported.leftovers)
    if (leftover.matters)
      text += fmt::format("left, may matter: {}\n", Line(leftover));
    else if (all)
      text += fmt::format("left, does not matter: {}\n", Line(leftover));
  const std::size_t idle = CountIdle(imported);
  if (idle > 0 && !all)
    text += fmt::format(
        "left: {} more that change neither memory nor time (comments in the spec)\n", idle);
  return text;
}
}  // namespace shardplan
