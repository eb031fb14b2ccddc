// SPDX-License-Identifier: Apache-2.0
#include "planner/import/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "planner/import/names.h"

namespace shardplan {
namespace {

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Words without the escapes that colour the matrix's head.
std::vector<std::string> WordsOf(const std::string& line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      plain += line[i];
      continue;
    }
    while (i < line.size() && line[i] != 'm') ++i;
  }
  std::istringstream stream(plain);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool IsGpu(const std::string& word) {
  return word.size() > 3 && word.size() < 8 && word.rfind("GPU", 0) == 0 &&
         std::all_of(word.begin() + 3, word.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

// The number that begins at `at`, of at most nine digits.
int NumberAt(const std::string& text, std::size_t at) {
  int value = 0;
  for (std::size_t i = at; i < text.size() && i < at + 9; ++i) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) break;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// The value of NAME= in a record of scontrol's: up to a blank.
std::string ValueOf(const std::string& record, const std::string& name) {
  std::size_t at = record.find(name + "=");
  while (at != std::string::npos && at > 0 &&
         std::isspace(static_cast<unsigned char>(record[at - 1])) == 0)
    at = record.find(name + "=", at + 1);
  if (at == std::string::npos) return "";
  at += name.size() + 1;
  return record.substr(at, record.find_first_of(" \n\t", at) - at);
}
}  // namespace

void ReadTopologyMatrix(const Placed& text, NodeFacts& facts, Draft& draft) {
  std::vector<std::string> columns;
  std::map<std::string, std::map<std::string, std::string>> cells;
  for (const std::string& line : LinesOf(text.text())) {
    const std::vector<std::string> words = WordsOf(line);
    if (words.empty()) continue;
    if (columns.empty()) {
      if (words[0] == "GPU0") columns = words;
      continue;
    }
    const bool row =
        IsGpu(words[0]) || words[0].rfind("NIC", 0) == 0 || words[0].rfind("mlx5", 0) == 0;
    if (!row || (words.size() > 1 && words[1] == "=")) continue;
    for (std::size_t i = 0; i + 1 < words.size() && i < columns.size(); ++i)
      cells[words[0]][columns[i]] = words[i + 1];
  }
  std::set<std::string> gpus, nics;
  for (const auto& [name, row] : cells) (IsGpu(name) ? gpus : nics).insert(name);
  if (gpus.empty())
    return draft.Fail({text.spot().file, 1}, "", "has no row of a GPU",
                      "expected the matrix of nvidia-smi topo -m");
  facts.gpus = static_cast<int>(gpus.size());
  facts.nics = std::max(facts.nics, static_cast<int>(nics.size()));
  int fewest = 1000, most = 0;
  for (const std::string& gpu : gpus)
    for (const std::string& other : gpus) {
      if (gpu >= other) continue;
      const std::string& cell = cells[gpu][other];
      const int links = cell.rfind("NV", 0) == 0 ? NumberAt(cell, 2) : 0;
      fewest = std::min(fewest, links);
      most = std::max(most, links);
      if (links == 0 && (cell == "SYS" || cell == "NODE" || cell == "SOC"))
        facts.warnings.push_back(
            fmt::format("{} and {} meet over {} alone: no NVLink between them", gpu, other, cell));
    }
  if (gpus.size() > 1) facts.nvlinks = most;
  if (gpus.size() > 1 && fewest != most && fewest > 0)
    facts.warnings.push_back(fmt::format("pairs of GPUs have {} to {} NVLinks", fewest, most));
  for (const std::string& gpu : gpus) {
    if (nics.empty()) break;
    const bool near = std::any_of(nics.begin(), nics.end(), [&](const std::string& nic) {
      const std::string& cell = cells[gpu][nic];
      return cell == "PIX" || cell == "PXB";
    });
    if (!near)
      facts.warnings.push_back(
          fmt::format("{} has no network card behind its PCIe switch (PIX or PXB)", gpu));
  }
}

void ReadSlurmNodes(const Placed& text, NodeFacts& facts, Draft& draft) {
  // A record a node: on one line with -o, else up to an empty line.
  std::vector<std::string> records;
  for (const std::string& line : LinesOf(text.text()))
    if (line.rfind("NodeName=", 0) == 0)
      records.push_back(line);
    else if (!records.empty())
      records.back() += " " + line;
  std::map<std::string, int> shapes;
  for (const std::string& record : records) {
    const std::string state = ValueOf(record, "State");
    const std::string name = ValueOf(record, "NodeName");
    if (state.find("DOWN") != std::string::npos || state.find("DRAIN") != std::string::npos) {
      facts.warnings.push_back(fmt::format("{} is {}: not counted", name, state));
      continue;
    }
    const std::string gres = ValueOf(record, "Gres");
    if (gres.rfind("gpu", 0) != 0) continue;
    ++shapes[gres.substr(0, gres.find('('))];
    facts.host_memory = std::max(
        facts.host_memory, std::strtod(ValueOf(record, "RealMemory").c_str(), nullptr) * (1 << 20));
  }
  if (shapes.empty())
    return draft.Fail({text.spot().file, 1}, "", "has no node with Gres=gpu that is up",
                      "expected scontrol show node of nodes with GPUs");
  const auto usual =
      std::max_element(shapes.begin(), shapes.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& [gres, count] : shapes)
    if (gres != usual->first)
      facts.warnings.push_back(fmt::format("{} nodes with {} are not counted", count, gres));
  facts.nodes = usual->second;
  std::istringstream parts(usual->first);
  for (std::string part; std::getline(parts, part, ':');) {
    const bool digits = !part.empty() && std::isdigit(static_cast<unsigned char>(part[0])) != 0 &&
                        part.find_first_not_of("0123456789") == std::string::npos;
    if (digits)
      facts.gpus = NumberAt(part, 0);
    else if (part != "gpu")
      facts.gpu_name = part;
  }
}

void ReadSlurmTopology(const Placed& text, NodeFacts& facts, Draft& draft) {
  int switches = 0, top = 0;
  for (const std::string& line : LinesOf(text.text())) {
    if (line.rfind("SwitchName=", 0) != 0) continue;
    ++switches;
    top = std::max(top, NumberAt(ValueOf(line, "Level"), 0));
    if (facts.nodes == 0 && ValueOf(line, "Level") == std::to_string(top) && top > 0)
      draft.Warn(
          "the switches of Slurm name their nodes, but not how far the tree is oversubscribed: "
          "give --set cluster.scale_out.oversubscription=N");
  }
  if (switches > 1)
    facts.warnings.push_back(fmt::format("{} switches on {} levels", switches, top + 1));
}

void ReadKubernetesNodes(const Placed& text, NodeFacts& facts, Draft& draft) {
  const auto json = nlohmann::json::parse(text.text(), nullptr, false);
  if (!json.is_object())
    return draft.Fail({text.spot().file, 1}, "", "is not a JSON object",
                      "expected kubectl get nodes -o json");
  const auto items = json.contains("items") && json["items"].is_array()
                         ? json["items"]
                         : nlohmann::json::array({json});
  std::map<std::string, std::vector<std::map<std::string, std::string>>> kinds;
  for (const auto& node : items) {
    std::map<std::string, std::string> labels;
    const auto pointer = nlohmann::json::json_pointer("/metadata/labels");
    if (!node.is_object() || !node.contains(pointer) || !node[pointer].is_object()) continue;
    for (const auto& [key, value] : node[pointer].items())
      if (value.is_string()) labels[key] = value.get<std::string>();
    if (labels.count("nvidia.com/gpu.product") == 0) continue;
    const std::string replicas = labels["nvidia.com/gpu.replicas"];
    const std::string sharing = labels["nvidia.com/gpu.sharing-strategy"];
    if ((!replicas.empty() && replicas != "1" && replicas != "0") ||
        (!sharing.empty() && sharing != "none")) {
      facts.warnings.push_back(
          "a node shares its GPUs between jobs (time slicing or MPS): not counted");
      continue;
    }
    kinds[labels["nvidia.com/gpu.product"] + " x " + labels["nvidia.com/gpu.count"]].push_back(
        labels);
  }
  if (kinds.empty())
    return draft.Fail({text.spot().file, 1}, "",
                      "has no node with the label nvidia.com/gpu.product",
                      "expected nodes that NVIDIA's GPU feature discovery has labelled");
  const auto usual = std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  for (const auto& [kind, nodes] : kinds)
    if (kind != usual->first)
      facts.warnings.push_back(fmt::format("{} nodes with {} are not counted", nodes.size(), kind));
  auto labels = usual->second.front();
  facts.nodes = static_cast<int>(usual->second.size());
  facts.gpus = NumberAt(labels["nvidia.com/gpu.count"], 0);
  facts.gpu_name = labels["nvidia.com/gpu.product"];
  facts.gpu_memory = NumberAt(labels["nvidia.com/gpu.memory"], 0) * double{1 << 20};
  std::map<std::string, int> cliques;
  for (auto& node : usual->second)
    if (!node["nvidia.com/gpu.clique"].empty()) ++cliques[node["nvidia.com/gpu.clique"]];
  if (!cliques.empty() && cliques.begin()->second > 1)
    facts.scale_up_domain = cliques.begin()->second * facts.gpus;
}

void ReadLspci(const Placed& text, NodeFacts& facts, Draft& draft) {
  std::string device;
  double could = 0;
  int width = 0, gpus = 0, nics = 0;
  for (const std::string& line : LinesOf(text.text())) {
    if (!line.empty() && std::isxdigit(static_cast<unsigned char>(line[0])) != 0) {
      device.clear();
      const bool nvidia = line.find("NVIDIA") != std::string::npos;
      const bool gpu = nvidia && (line.find("3D controller") != std::string::npos ||
                                  line.find("VGA compatible") != std::string::npos);
      const bool nic = line.find("Infiniband controller") != std::string::npos ||
                       (line.find("Ethernet controller") != std::string::npos &&
                        line.find("Mellanox") != std::string::npos);
      if (gpu) ++gpus;
      if (nic) ++nics;
      if (gpu || nic)
        device = line.substr(0, line.find(' ')) + (gpu ? " (GPU)" : " (network card)");
      continue;
    }
    const std::size_t speed = line.find("Speed "), wide = line.find("Width x");
    if (device.empty() || speed == std::string::npos || wide == std::string::npos) continue;
    const double rate = std::strtod(line.c_str() + speed + 6, nullptr);
    const int lanes = NumberAt(line, wide + 7);
    if (line.find("LnkCap:") != std::string::npos) {
      could = rate;
      width = lanes;
    } else if (line.find("LnkSta:") != std::string::npos && could > 0) {
      if (lanes < width)
        facts.warnings.push_back(
            fmt::format("{}: the slot has x{} of x{} lanes", device, lanes, width));
      if (rate < could)
        facts.warnings.push_back(
            fmt::format("{}: the link runs at {} of {} GT/s (idle GPUs slow "
                        "theirs down)",
                        device, rate, could));
      could = 0;
    }
  }
  if (gpus + nics == 0)
    return draft.Fail({text.spot().file, 1}, "", "has no GPU and no network card",
                      "expected lspci -vv as root");
  if (gpus > 0) facts.gpus = gpus;
  facts.nics = std::max(facts.nics, nics);
}

void ReadClusterFile(FileKind kind, const Placed& text, NodeFacts& facts, Draft& draft) {
  switch (kind) {
    case FileKind::kTopologyMatrix:
      return ReadTopologyMatrix(text, facts, draft);
    case FileKind::kNvidiaSmi:
      return ReadNvidiaSmi(text, facts, draft);
    case FileKind::kNcclTopology:
      return ReadNcclTopology(text, facts, draft);
    case FileKind::kSlurmNodes:
      return ReadSlurmNodes(text, facts, draft);
    case FileKind::kSlurmTopology:
      return ReadSlurmTopology(text, facts, draft);
    case FileKind::kKubernetes:
      return ReadKubernetesNodes(text, facts, draft);
    case FileKind::kLspci:
      return ReadLspci(text, facts, draft);
    default:
      return;
  }
}

void SetCluster(const NodeFacts& facts, Draft& draft) {
  v1::Cluster& cluster = draft.cluster();
  if (facts.nodes > 0 && !cluster.has_nodes()) cluster.set_nodes(facts.nodes);
  if (facts.gpus > 0 && !cluster.has_gpus_per_node()) cluster.set_gpus_per_node(facts.gpus);
  if (!facts.gpu_name.empty() && !cluster.has_gpu()) {
    const std::vector<std::string> entries = GpuEntriesOf(facts.gpu_name, facts.gpu_memory);
    if (entries.size() == 1) {
      cluster.mutable_gpu()->set_base(entries[0]);
    } else {
      draft.Need(
          "cluster.gpu",
          fmt::format("{} is {}: give --set cluster.gpu=NAME (shardplan list gpus)", facts.gpu_name,
                      entries.empty() ? "not in configs/gpus"
                                      : fmt::format("one of {}", fmt::join(entries, ", "))));
    }
    if (entries.size() == 1 && facts.power_limit_watts > 0)
      cluster.mutable_gpu()->set_power_limit(facts.power_limit_watts);
  }
  if (facts.nvlinks == 0 && facts.gpus > 1) cluster.mutable_scale_up()->set_kind("pcie4");
  if (facts.scale_up_domain > 0) cluster.set_scale_up_domain(facts.scale_up_domain);
  if (facts.nics > 0 && facts.nic_rate > 0) {
    cluster.mutable_scale_out()->set_nics(facts.nics);
    cluster.mutable_scale_out()->set_rate(facts.nic_rate);
    cluster.mutable_scale_out()->set_kind(v1::NETWORK_INFINIBAND);
    draft.Warn("the network is taken for InfiniBand: RoCE is --set cluster.scale_out.kind=roce");
  } else if (facts.nics > 0) {
    draft.Need("cluster.scale_out",
               fmt::format("{} network cards, whose rate is not told: give --set "
                           "'cluster.scale_out={}x400Gb/s infiniband'",
                           facts.nics, facts.nics));
  }
  if (facts.host_memory > 0) cluster.set_host_memory(facts.host_memory);
  for (const std::string& warning : facts.warnings) draft.Warn(warning);
}
}  // namespace shardplan
