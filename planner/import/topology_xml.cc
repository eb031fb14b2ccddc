// SPDX-License-Identifier: Apache-2.0
// The two descriptions in XML: nvidia-smi -q -x, and what NCCL dumps (NCCL_TOPO_DUMP_FILE).
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <pugixml.hpp>

#include "planner/import/topology.h"

namespace shardplan {
namespace {

constexpr double kMegabit = 1e6 / 8;

bool Parse(const Placed& text, pugi::xml_document& document, Draft& draft) {
  const pugi::xml_parse_result parsed = document.load_buffer(text.text().data(), text.size());
  if (parsed) return true;
  const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, parsed.offset));
  const Spot spot = text.At(std::min(offset, text.size() - 1));
  draft.Fail(spot, "", fmt::format("is no XML: {}", parsed.description()), "expected a whole file");
  return false;
}

double Leading(const char* text) { return std::strtod(text, nullptr); }

// Generation and width of a link, now and at most; "N/A" is 0.
void CheckLink(const pugi::xml_node& pci, const std::string& id, NodeFacts& facts) {
  const pugi::xml_node info = pci.child("pci_gpu_link_info");
  const pugi::xml_node widths = info.child("link_widths"), speeds = info.child("pcie_gen");
  const double now = Leading(widths.child_value("current_link_width"));
  const double most = Leading(widths.child_value("max_link_width"));
  if (now > 0 && now < most)
    facts.warnings.push_back(fmt::format("GPU {}: the slot has x{} of x{} lanes", id, now, most));
  const double host = Leading(speeds.child_value("max_host_link_gen"));
  const double device = Leading(speeds.child_value("max_device_link_gen"));
  if (host > 0 && host < device)
    facts.warnings.push_back(
        fmt::format("GPU {}: the host offers PCIe {} to a card of PCIe {}", id, host, device));
}

void WalkNccl(const pugi::xml_node& node, NodeFacts& facts, int depth) {
  if (depth > 60) return;
  const std::string name = node.name();
  if (name == "gpu") {
    ++facts.gpus;
    int links = 0;
    for (const pugi::xml_node& link : node.children("nvlink"))
      links += link.attribute("count").as_int(1);
    facts.nvlinks = facts.nvlinks < 0 ? links : std::min(facts.nvlinks, links);
  } else if (name == "net") {
    ++facts.nics;
    facts.nic_rate = std::max(facts.nic_rate, node.attribute("speed").as_double() * kMegabit);
    if (std::string(node.attribute("gdr").as_string("1")) == "0")
      facts.warnings.push_back(
          fmt::format("{} has no GPUDirect RDMA", node.attribute("name").as_string()));
  } else if (name == "pci") {
    const int width = node.attribute("link_width").as_int();
    const std::string kind = node.attribute("class").as_string();
    const bool gpu = kind.rfind("0x0302", 0) == 0 || kind.rfind("0x0300", 0) == 0;
    if (gpu && width > 0 && width < 16)
      facts.warnings.push_back(fmt::format("GPU {}: the slot has x{} of x16 lanes",
                                           node.attribute("busid").as_string(), width));
  }
  for (const pugi::xml_node& child : node.children()) WalkNccl(child, facts, depth + 1);
}
}  // namespace

void ReadNvidiaSmi(const Placed& text, NodeFacts& facts, Draft& draft) {
  pugi::xml_document document;
  if (!Parse(text, document, draft)) return;
  int count = 0;
  for (const pugi::xml_node& gpu : document.child("nvidia_smi_log").children("gpu")) {
    ++count;
    facts.gpu_name = gpu.child_value("product_name");
    facts.gpu_memory = Leading(gpu.child("fb_memory_usage").child_value("total")) * (1 << 20);
    const pugi::xml_node power = gpu.child("gpu_power_readings") ? gpu.child("gpu_power_readings")
                                                                 : gpu.child("power_readings");
    const double limit = Leading(power.child_value("current_power_limit"));
    const double enforced = limit > 0 ? limit : Leading(power.child_value("power_limit"));
    const double usual = Leading(power.child_value("default_power_limit"));
    if (enforced > 0 && usual > 0 && enforced < usual) {
      facts.power_limit_watts = enforced;
      facts.warnings.push_back(fmt::format("GPU {}: power is limited to {} of {} W",
                                           gpu.attribute("id").as_string(), enforced, usual));
    }
    CheckLink(gpu.child("pci"), gpu.attribute("id").as_string(), facts);
    if (std::string(gpu.child("mig_mode").child_value("current_mig")) == "Enabled")
      facts.warnings.push_back(fmt::format("GPU {}: MIG is on; whole GPUs are planned",
                                           gpu.attribute("id").as_string()));
  }
  if (count == 0)
    return draft.Fail({text.spot().file, 1}, "", "has no GPU", "expected nvidia-smi -q -x");
  facts.gpus = count;
}

void ReadNcclTopology(const Placed& text, NodeFacts& facts, Draft& draft) {
  pugi::xml_document document;
  if (!Parse(text, document, draft)) return;
  const pugi::xml_node system = document.child("system");
  if (std::string(system.attribute("version").as_string("1")) != "1")
    return draft.Fail({text.spot().file, 1}, "version", "is not 1", "NCCL 2 writes version 1");
  NodeFacts own;
  WalkNccl(system, own, 0);
  if (own.gpus == 0)
    return draft.Fail({text.spot().file, 1}, "", "has no GPU",
                      "expected NCCL_TOPO_DUMP_FILE's file");
  facts.gpus = own.gpus;
  facts.nvlinks = own.nvlinks;
  facts.nics = own.nics;
  facts.nic_rate = own.nic_rate;
  if (own.nvlinks == 0 && own.gpus > 1) own.warnings.push_back("no NVLink between the GPUs");
  facts.warnings.insert(facts.warnings.end(), own.warnings.begin(), own.warnings.end());
}
}  // namespace shardplan
