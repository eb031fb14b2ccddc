// SPDX-License-Identifier: Apache-2.0
// What sbatch and srun are told: nodes, GPUs of a node, the kind of GPU.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "planner/import/launch.h"
#include "planner/import/names.h"
#include "planner/import/shell_tokens.h"

namespace shardplan {
namespace {

std::string LongName(const std::string& name) {
  static const std::pair<const char*, const char*> kShort[] = {
      {"N", "nodes"}, {"n", "ntasks"}, {"G", "gpus"}, {"C", "constraint"}, {"p", "partition"}};
  for (const auto& [brief, full] : kShort)
    if (name == brief) return full;
  return name;
}

// "gpu:a100:8", "a100:8" or "8": the number at the end and the kind before it.
void ReadGpus(const Setting& setting, std::optional<int>& count, std::string& kind) {
  if (setting.values.size() != 1 || IsUnknown(setting.values[0])) return;
  std::istringstream parts(setting.values[0].substr(0, setting.values[0].find_first_of(",(")));
  for (std::string part; std::getline(parts, part, ':');) {
    const bool digits =
        !part.empty() && part.size() < 7 &&
        std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (digits)
      count = std::max(1, std::stoi(part));
    else if (part != "gpu")
      kind = part;
  }
}
}  // namespace

void AddSlurm(const Placed& script, SettingList& settings) {
  static constexpr std::string_view kMark = "#SBATCH";
  const std::string& text = script.text();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (text.compare(begin, kMark.size(), kMark) == 0) {
      std::vector<std::string> words;
      for (const Token& token : ShellTokens(script.Part(begin + kMark.size(), end)))
        if (token.kind == Token::Kind::kWord) words.push_back(token.text.text());
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i].rfind('-', 0) != 0) continue;
        const std::size_t equals = words[i].find('=');
        const std::size_t dashes = words[i].find_first_not_of('-');
        if (dashes == std::string::npos) continue;
        Setting setting{words[i].substr(dashes, equals - dashes), {}, script.At(begin), words[i]};
        std::replace(setting.name.begin(), setting.name.end(), '-', '_');
        const bool packed = dashes == 1 && setting.name.size() > 1 && equals == std::string::npos;
        if (packed) {  // -N4
          setting.values = {setting.name.substr(1)};
          setting.name = setting.name.substr(0, 1);
        } else if (equals != std::string::npos) {
          setting.values = {words[i].substr(equals + 1)};
        } else if (i + 1 < words.size() && words[i + 1].rfind('-', 0) != 0) {
          setting.values = {words[i + 1]};
          setting.shown += " " + words[++i];
        }
        setting.shown = "#SBATCH " + setting.shown;
        settings.Add(std::move(setting));
      }
    }
    begin = end + 1;
  }
}

void ReadSlurm(SettingList& given, Draft& draft) {
  SettingList s(draft);
  for (Setting setting : given.all()) {
    given.Skip(setting.name);
    setting.name = LongName(setting.name);
    s.Add(std::move(setting));
  }
  v1::Cluster& cluster = draft.cluster();
  if (const Setting* nodes = s.Take("nodes"); nodes != nullptr && nodes->values.size() == 1) {
    // "2-4": as many as it may get.
    SettingList most(draft);
    const std::string& text = nodes->values[0];
    most.Add({"nodes", {text.substr(text.rfind('-') + 1)}, nodes->spot, nodes->shown});
    if (const auto count = most.Size("nodes", "cluster.nodes")) cluster.set_nodes(*count);
  }
  std::optional<int> gpus, all;
  std::string kind;
  for (const char* name : {"gpus_per_node", "gres"})
    if (const Setting* setting = s.Take(name))
      if (std::string(name) != "gres" ||
          (setting->values.size() == 1 && setting->values[0].rfind("gpu", 0) == 0)) {
        ReadGpus(*setting, gpus, kind);
        if (gpus) draft.From("cluster.gpus_per_node", *setting);
      }
  if (const Setting* setting = s.Take("gpus")) ReadGpus(*setting, all, kind);
  const auto tasks = s.Take("ntasks_per_node") ? s.Size("ntasks_per_node") : std::nullopt;
  if (const Setting* each = s.Take("gpus_per_task")) {
    std::optional<int> count;
    ReadGpus(*each, count, kind);
    if (count && tasks) gpus = *count * *tasks;
  }
  if (all && !gpus && cluster.has_nodes()) gpus = std::max(1, *all / cluster.nodes());
  if (gpus) cluster.set_gpus_per_node(*gpus);
  for (const char* name : {"constraint", "partition"}) {
    const Setting* setting = s.Take(name);
    if (!kind.empty() || setting == nullptr || setting->values.size() != 1) continue;
    if (!GpuEntriesOf(setting->values[0]).empty()) kind = setting->values[0];
  }
  if (!kind.empty() && !cluster.has_gpu() && !cluster.has_preset()) {
    const std::vector<std::string> entries = GpuEntriesOf(kind);
    if (entries.size() == 1) {
      cluster.mutable_gpu()->set_base(entries[0]);
      draft.Warn("Slurm's " + kind + " is taken for " + entries[0]);
    } else if (entries.size() > 1) {
      std::string list;
      for (const std::string& entry : entries) list += " " + entry;
      draft.Need(
          "cluster.gpu",
          fmt::format("Slurm says {}, which may be{}: give --set cluster.gpu=NAME", kind, list));
    }
  }
  s.LeaveRest([](const Setting&) { return false; });
}
}  // namespace shardplan
