// SPDX-License-Identifier: Apache-2.0
#include "planner/import/launch.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

namespace shardplan {
namespace {

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool IsLauncher(const std::string& word) {
  static const std::set<std::string> names = {"srun",   "torchrun", "deepspeed", "accelerate",
                                              "python", "python3",  "mpirun",    "launch",
                                              "bash",   "nohup",    "env",       "run"};
  return names.count(BaseName(word)) > 0 || BaseName(word).rfind("python3.", 0) == 0;
}

bool IsLaunchModule(const std::string& module) {
  return module.rfind("torch.distributed", 0) == 0 || module.rfind("accelerate.", 0) == 0 ||
         module.rfind("deepspeed.", 0) == 0;
}

bool IsOption(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         std::isdigit(static_cast<unsigned char>(word[1])) == 0 && word[1] != '.';
}

// "--foo-bar=3" and "-N" without dashes, `_` for `-`, up to the `=`.
std::string NameOf(const std::string& word) {
  const std::size_t begin = word.find_first_not_of('-');
  if (begin == std::string::npos) return "";
  std::string name = word.substr(begin, word.find('=') - begin);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Reads the option at `i` with at most `most` values; `i` moves behind it.
Setting TakeOption(const std::vector<Placed>& words, std::size_t& i, std::size_t most) {
  const std::string& word = words[i].text();
  Setting setting{NameOf(word), {}, words[i].spot(), word};
  const std::size_t equals = word.find('=');
  ++i;
  if (equals != std::string::npos && !IsUnknown(word.substr(0, equals))) {
    setting.values.push_back(word.substr(equals + 1));
    return setting;
  }
  while (i < words.size() && setting.values.size() < most && !IsOption(words[i].text())) {
    setting.values.push_back(words[i].text());
    setting.shown += " " + words[i].text();
    ++i;
  }
  return setting;
}

// Options of launchers that take no value, which the next word would be taken for.
bool IsMereFlag(const std::string& name) {
  static const std::set<std::string> names = {"standalone",
                                              "l",
                                              "label",
                                              "u",
                                              "multi_gpu",
                                              "use_fsdp",
                                              "use_deepspeed",
                                              "no_local_rank",
                                              "no_python",
                                              "exclusive",
                                              "unbuffered",
                                              "force_multi",
                                              "debug",
                                              "v",
                                              "verbose",
                                              "same_network",
                                              "elastic_training",
                                              "enable_each_rank_log",
                                              "m",
                                              "module"};
  return names.count(name) > 0;
}
}  // namespace

LaunchCommand TakeApart(const ShellCommand& command, Draft& draft) {
  LaunchCommand launch{{}, "", {}, SettingList(draft), SettingList(draft)};
  const std::vector<Placed>& words = command.words;
  if (!words.empty()) launch.spot = words[0].spot();
  std::size_t i = 0;
  bool module = false;
  while (i < words.size()) {
    const std::string& word = words[i].text();
    const bool bare = launch.launchers.empty() && i == 0 && word.rfind("--", 0) == 0;
    if (bare) break;  // a list of arguments alone
    if (IsOption(word)) {
      const std::string name = NameOf(word);
      if (name == "m" || name == "module") module = true;
      launch.launcher.Add(TakeOption(words, i, IsMereFlag(name) ? 0 : 1));
      continue;
    }
    ++i;
    if (IsLauncher(word)) {
      launch.launchers.push_back(BaseName(word));
    } else if (module && IsLaunchModule(word)) {
      launch.launchers.push_back("torchrun");
      module = false;
    } else if (word.ends_with(".py") || module) {
      launch.program = word;
      launch.spot = words[i - 1].spot();
      break;
    } else if (word == "llamafactory-cli" || word.ends_with("/llamafactory-cli")) {
      launch.program = "llamafactory-cli";
      break;
    }
  }
  while (i < words.size()) {
    if (IsOption(words[i].text()))
      launch.script.Add(TakeOption(words, i, 1000));
    else
      launch.script.Add({"", {words[i].text()}, words[i].spot(), words[i].text()}), ++i;
  }
  return launch;
}

void ReadLauncher(LaunchCommand& launch, Draft& draft) {
  SettingList& s = launch.launcher;
  v1::Cluster& cluster = draft.cluster();
  const auto runs = [&](const char* name) {
    return std::find(launch.launchers.begin(), launch.launchers.end(), name) !=
           launch.launchers.end();
  };
  if (runs("srun")) ReadSlurm(s, draft);
  std::optional<int> nodes, gpus;
  for (const char* name : {"nnodes", "num_nodes", "num_machines"}) {
    const Setting* setting = s.Take(name);
    // An elastic range: what it is at its fullest.
    const std::size_t colon = setting != nullptr && setting->values.size() == 1
                                  ? setting->values[0].find(':')
                                  : std::string::npos;
    if (colon != std::string::npos) {
      SettingList most(draft);
      most.Add(
          {setting->name, {setting->values[0].substr(colon + 1)}, setting->spot, setting->shown});
      nodes = most.Size(name, "cluster.nodes");
    } else if (const auto count = s.Size(name, "cluster.nodes")) {
      nodes = count;
    }
  }
  for (const char* name : {"nproc_per_node", "num_gpus", "num_gpus_per_node"}) {
    const Setting* setting = s.Take(name);
    if (setting == nullptr || (setting->values.size() == 1 &&
                               (setting->values[0] == "gpu" || setting->values[0] == "auto")))
      continue;
    if (const auto count = s.Size(name, "cluster.gpus_per_node")) gpus = count;
  }
  // `accelerate launch` counts the processes of all machines.
  if (runs("accelerate") && s.Has("num_processes"))
    if (const auto all = s.Size("num_processes", "cluster.gpus_per_node"))
      gpus = std::max(1, *all / nodes.value_or(1));
  const bool differs = nodes && cluster.has_nodes() && cluster.nodes() != *nodes;
  if (differs)
    draft.Warn("the launcher is told " + std::to_string(*nodes) + " nodes, Slurm " +
               std::to_string(cluster.nodes()) + ": the launcher's are taken");
  if (nodes && *nodes > 0) cluster.set_nodes(*nodes);
  if (gpus) cluster.set_gpus_per_node(*gpus);
  if (gpus && !cluster.has_nodes() && !s.Has("hostfile")) cluster.set_nodes(1);
  s.Leave("hostfile", "its machines are not counted: give --set cluster.nodes=N", !nodes);
}

void ReadEnvironment(const Shell& shell, const ShellCommand& command, Draft& draft) {
  std::map<std::string, Placed> all = command.environment;
  for (const std::string& name : shell.exported()) {
    const auto found = shell.variables().find(name);
    if (found != shell.variables().end() && !found->second.items.empty())
      all.emplace(name, found->second.items.front());
  }
  for (const auto& [name, value] : all) {
    if (IsUnknown(value.text())) continue;
    const Setting setting{name, {value.text()}, value.spot(), name + "=" + value.text()};
    if (name == "PYTORCH_CUDA_ALLOC_CONF" || name == "PYTORCH_ALLOC_CONF") {
      const bool on = value.text().find("expandable_segments:True") != std::string::npos;
      draft.train().mutable_allocator()->set_expandable_segments(on);
      draft.From("train.allocator.expandable_segments", setting);
    } else if (name.rfind("NCCL_", 0) == 0 && name != "NCCL_DEBUG") {
      auto& fields = *draft.cluster().mutable_nccl()->mutable_variables()->mutable_fields();
      fields[name].set_string_value(value.text());
      draft.From("cluster.nccl." + name, setting);
    }
  }
}
}  // namespace shardplan
