// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/resolve_links.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/machine/network.h"
#include "planner/spec/free_value.h"
#include "planner/base/nearest.h"
#include "planner/spec/quantity_text.h"
#include "planner/spec/schema.h"

namespace shardplan {
namespace {

constexpr const char* kFormHint =
    "expected NICs per node x rate of one, then the kind, as in 8x400Gb/s infiniband";

const google::protobuf::EnumDescriptor& NetworkEnum() {
  return *google::protobuf::GetEnumDescriptor<v1::Network>();
}

// `8x400Gb/s infiniband` as nics, rate and kind, where those are not given beside it.
Result<v1::ScaleOut> TakeForm(const SpecText& text, v1::ScaleOut out) {
  const std::string path = "cluster.scale_out";
  const std::string form = out.form();
  const std::size_t times = form.find('x');
  const std::size_t blank = form.find(' ', times == std::string::npos ? 0 : times);
  if (times == std::string::npos || blank == std::string::npos)
    return text.Fail(path, fmt::format("{} is no network", Shown(form)), kFormHint);
  const std::string nics_text = form.substr(0, times);
  const std::string rate_text = form.substr(times + 1, blank - times - 1);
  const std::string kind_text =
      form.substr(std::min(form.find_first_not_of(' ', blank), form.size()));
  const auto nics = ParseWhole(nics_text);
  if (!nics || *nics < 1 || *nics > 1024)
    return text.Fail(path, fmt::format("{} is no number of NICs", Shown(nics_text)), kFormHint);
  const ParsedNumber rate = ParseNumber(rate_text, Dimension::kBytesPerSecond);
  if (rate.fault != NumberFault::kNone || rate.unit.empty() || rate.value <= 0)
    return text.Fail(path, fmt::format("{} is no rate of a NIC", Shown(rate_text)), kFormHint);
  const std::vector<std::string> kinds = EnumTexts(NetworkEnum());
  const auto kind = std::find(kinds.begin(), kinds.end(), kind_text);
  if (kind == kinds.end())
    return text.Fail(path, fmt::format("unknown kind of network {}", Shown(kind_text)),
                     Suggest(kind_text, kinds, "the kinds are"));
  if (!out.has_nics()) out.set_nics(static_cast<int>(*nics));
  if (!out.has_rate()) out.set_rate(rate.value);
  if (!out.has_kind()) out.set_kind(static_cast<v1::Network>(kind - kinds.begin() + 1));
  out.clear_form();
  return out;
}

}  // namespace

Result<ScaleUp> ResolveScaleUp(const SpecText& text, const v1::Node& customary,
                               const v1::Gpu& gpu) {
  static_assert(static_cast<int>(Fabric::kSwitch) == v1::FABRIC_SWITCH - 1 &&
                static_cast<int>(Fabric::kPcie) == v1::FABRIC_PCIE - 1);
  const v1::ScaleUp& given = text.spec.cluster().scale_up();
  v1::ScaleUp from;
  if (!given.has_kind()) from = customary.scale_up();
  from.MergeFrom(given);
  if (!from.has_kind() && !from.has_bandwidth())
    from.set_kind(fmt::format("pcie{}", gpu.has_pcie_gen() ? gpu.pcie_gen() : 4.0));
  v1::Link link;
  if (from.has_kind()) {
    SourceMap map;
    const Result<void> read =
        ReadEntry("links", from.kind(), text.Refer("cluster.scale_up"), &link, &map);
    if (!read) return tl::unexpected(read.error());
  }
  ScaleUp up;
  up.kind = from.has_kind() ? from.kind() : "custom";
  up.bandwidth = {link.bandwidth()};
  // A GPU with fewer links than the kind's usual number carries less (A800, bridged cards).
  if (link.links() > 0 && gpu.nvlinks() > 0)
    up.bandwidth *= std::min(1.0, static_cast<double>(gpu.nvlinks()) / link.links());
  if (from.has_bandwidth()) up.bandwidth = {from.bandwidth()};
  if (link.has_latency()) up.latency = {link.latency()};
  if (from.has_latency()) up.latency = {from.latency()};
  const v1::Fabric fabric = from.has_fabric()   ? from.fabric()
                            : link.has_fabric() ? link.fabric()
                                                : v1::FABRIC_SWITCH;
  up.fabric = static_cast<Fabric>(fabric - 1);
  if (link.has_peer_to_peer()) up.peer_to_peer = link.peer_to_peer();
  if (from.has_peer_to_peer()) up.peer_to_peer = from.peer_to_peer();
  return up;
}

Result<ScaleOut> ResolveScaleOut(const SpecText& text, const v1::Node& customary, int nodes,
                                 int gpus_per_node) {
  const v1::ScaleOut& given = text.spec.cluster().scale_out();
  v1::ScaleOut from;
  if (customary.has_scale_out() && !given.has_form()) {
    from = customary.scale_out();
    if (from.has_form()) {
      Result<v1::ScaleOut> taken = TakeForm(text, from);
      if (!taken) return tl::unexpected(taken.error());
      from = std::move(*taken);
    }
    // NICs go with GPUs: a part of a node reaches the NICs on its own PCIe switches.
    const int whole = customary.gpus_per_node();
    if (gpus_per_node < whole) from.set_nics((from.nics() * gpus_per_node + whole - 1) / whole);
  }
  from.MergeFrom(given);
  if (from.has_form()) {
    Result<v1::ScaleOut> taken = TakeForm(text, from);
    if (!taken) return tl::unexpected(taken.error());
    from = std::move(*taken);
  }
  if (nodes > 1 && (from.nics() == 0 || !from.has_rate()))
    return text.Fail("cluster.scale_out",
                     fmt::format("missing: nothing connects the {} nodes", nodes),
                     "give NICs per node x rate of one and the kind, as in 1x100Gb/s ethernet");
  if (from.nics() == 0 || !from.has_rate()) return ScaleOut{};
  const v1::Network kind = from.has_kind() ? from.kind() : v1::NETWORK_INFINIBAND;
  const std::string name = EnumText(*NetworkEnum().FindValueByNumber(kind));
  ScaleOut out = NetworkOf(name, from.nics(), {from.rate()});
  if (from.has_latency()) out.latency = {from.latency()};
  if (from.has_oversubscription()) out.oversubscription = from.oversubscription();
  if (from.has_efficiency()) out.efficiency = from.efficiency();
  return out;
}

Result<NcclSettings> ResolveNccl(const SpecText& text, const v1::Nccl& given) {
  NcclSettings settings;
  if (given.has_version()) {
    // 2.9 comes before 2.28: the minor number counts hundredths.
    const std::string& version = given.version();
    const std::size_t dot = version.find('.');
    const std::size_t end = dot == std::string::npos ? dot : version.find('.', dot + 1);
    const auto major = ParseWhole(version.substr(0, dot));
    const auto minor = dot == std::string::npos
                           ? std::optional<std::int64_t>()
                           : ParseWhole(version.substr(dot + 1, end - dot - 1));
    if (!major || !minor || *major != 2 || *minor < 0 || *minor > 99)
      return text.Fail("cluster.nccl.version",
                       fmt::format("{} is no version of NCCL", Shown(version)),
                       "expected one like 2.28 or 2.28.3");
    settings.version = static_cast<double>(*major) + static_cast<double>(*minor) / 100;
  }
  const nlohmann::json variables = JsonOf(given.variables());
  for (const auto& [name, value] : variables.items()) {
    const std::string path = "cluster.nccl." + name;
    if (!name.starts_with("NCCL_")) {
      const Places* places = text.map.Find(path);
      return InvalidAt(places ? places->key : text.map.ValueOrParent(path), path, "unknown key",
                       "nccl takes version, and NCCL's environment variables by their names");
    }
    if (value.is_structured() || value.is_null())
      return text.Fail(path, "is not one value",
                       "expected what the environment variable is set to");
    settings.variables[name] = value.is_string()    ? value.get<std::string>()
                               : value.is_boolean() ? (value.get<bool>() ? "1" : "0")
                                                    : value.dump();
  }
  const auto nvls = settings.variables.find("NCCL_NVLS_ENABLE");
  if (nvls != settings.variables.end()) settings.nvls = nvls->second != "0";
  return settings;
}
}  // namespace shardplan
