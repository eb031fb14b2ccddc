// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "planner/spec/local_cluster.h"
#include "planner/spec/profile_reader.h"
#include "planner/spec/resolve.h"
#include "planner/spec/resolve_links.h"

namespace shardplan {
namespace {

constexpr double kMostGpus = 10'000'000;

Result<v1::Cluster> ReadPreset(const SpecText& text) {
  v1::Cluster preset;
  const std::string& name = text.spec.cluster().preset();
  if (name.empty()) return preset;
  if (name == "local") return LocalCluster(text.Refer("cluster"));
  SourceMap map;
  const Result<void> read =
      ReadEntry("clusters", name, text.Refer("cluster.preset"), &preset, &map);
  if (!read) return tl::unexpected(read.error());
  return preset;
}

// `over` on top of `under`. Naming another GPU, link or network replaces all that was said of it.
v1::Cluster Over(v1::Cluster under, const v1::Cluster& over) {
  if (over.gpu().has_base()) under.clear_gpu();
  if (over.scale_up().has_kind()) under.clear_scale_up();
  if (over.scale_out().has_form()) under.clear_scale_out();
  under.MergeFrom(over);
  return under;
}

// What the spec's own keys override: the GPU's customary node, with what the preset says of it.
v1::Node CustomaryNode(const v1::Gpu& gpu, const v1::Cluster& preset) {
  v1::Node node = gpu.node();
  if (preset.has_gpus_per_node()) node.set_gpus_per_node(preset.gpus_per_node());
  if (preset.has_scale_up()) *node.mutable_scale_up() = preset.scale_up();
  if (preset.has_scale_up_domain()) node.set_scale_up_domain(preset.scale_up_domain());
  if (preset.has_scale_out()) *node.mutable_scale_out() = preset.scale_out();
  if (preset.has_host_memory()) node.set_host_memory(preset.host_memory());
  if (preset.has_host_bandwidth()) node.set_host_bandwidth(preset.host_bandwidth());
  if (preset.has_gpu_link()) node.set_gpu_link(preset.gpu_link());
  node.mutable_nvme()->MergeFrom(preset.nvme());
  return node;
}

Result<v1::Gpu> OverBase(const SpecText& text, const v1::Gpu& given) {
  v1::Gpu gpu;
  if (given.has_base()) {
    SourceMap map;
    const std::string path = text.map.Find("cluster.gpu.base") ? "cluster.gpu.base" : "cluster.gpu";
    const Result<void> read = ReadEntry("gpus", given.base(), text.Refer(path), &gpu, &map);
    if (!read) return tl::unexpected(read.error());
  }
  gpu.MergeFrom(given);
  const bool whole = gpu.has_architecture() && gpu.has_memory() && gpu.has_memory_bandwidth() &&
                     (gpu.has_bf16() || gpu.has_fp16());
  if (!whole)
    return text.Fail("cluster.gpu", "missing, or less than a whole GPU",
                     "name a file in configs/gpus, as in gpu: h100-sxm-80gb, or give at least "
                     "architecture, memory, memory_bandwidth and bf16");
  return gpu;
}

Gpu GpuOf(const v1::Gpu& from) {
  static_assert(static_cast<int>(Architecture::kVolta) == v1::ARCHITECTURE_VOLTA - 1 &&
                static_cast<int>(Architecture::kCdna) == v1::ARCHITECTURE_CDNA - 1);
  Gpu gpu;
  gpu.name = from.has_base() ? from.base() : "custom";
  gpu.architecture = static_cast<Architecture>(from.architecture() - 1);
  gpu.memory = {from.memory()};
  gpu.memory_bandwidth = {from.memory_bandwidth()};
  gpu.fp32 = {from.fp32()};
  gpu.tf32 = {from.tf32()};
  gpu.fp16 = {from.fp16()};
  gpu.bf16 = {from.bf16()};
  gpu.fp8 = {from.fp8()};
  gpu.fp4 = {from.fp4()};
  gpu.tdp_watts = from.tdp();
  gpu.power_limit_watts = from.has_power_limit() ? from.power_limit() : from.tdp();
  gpu.nvlinks = from.nvlinks();
  if (from.has_memory_efficiency()) gpu.memory_efficiency = from.memory_efficiency();
  if (from.has_gemm_efficiency()) gpu.gemm_efficiency = from.gemm_efficiency();
  if (from.has_fp8_gemm_efficiency()) gpu.fp8_gemm_efficiency = from.fp8_gemm_efficiency();
  if (from.has_attention_efficiency()) gpu.attention_efficiency = from.attention_efficiency();
  if (from.has_sm_count()) gpu.sm_count = from.sm_count();
  if (from.has_l2()) gpu.l2_bytes = from.l2();
  if (from.has_launch()) gpu.launch = {from.launch()};
  if (from.has_pcie_gen()) gpu.pcie_gen = from.pcie_gen();
  return gpu;
}

// The customary domain lies within a node, and then also within fewer GPUs; or it spans nodes
// (72 GPUs of 18 nodes), whatever part of them the job gets.
int DomainOf(const v1::Node& node, int gpus_per_node) {
  if (!node.has_scale_up_domain()) return gpus_per_node;
  const bool spans = node.scale_up_domain() > node.gpus_per_node();
  return spans ? node.scale_up_domain() : std::min(node.scale_up_domain(), gpus_per_node);
}

Host HostOf(const v1::Cluster& cluster, const v1::Node& node) {
  const auto either = [](bool given, double own, double customary) {
    return given ? own : customary;
  };
  v1::Nvme nvme = node.nvme();
  nvme.MergeFrom(cluster.nvme());
  Host host;
  host.memory = {either(cluster.has_host_memory(), cluster.host_memory(), node.host_memory())};
  host.memory_bandwidth = {
      either(cluster.has_host_bandwidth(), cluster.host_bandwidth(), node.host_bandwidth())};
  host.gpu_link = {either(cluster.has_gpu_link(), cluster.gpu_link(), node.gpu_link())};
  host.nvme = {nvme.capacity()};
  host.nvme_read = {nvme.read()};
  host.nvme_write = {nvme.write()};
  return host;
}

Result<Measurements> ReadProfile(const SpecText& text, const std::string& path) {
  const Reference from = text.Refer("cluster.profile");
  // A --set argument is typed in a shell, where the working directory counts.
  const bool typed = from.place && from.place.source->is_argument;
  const auto file =
      (typed ? std::filesystem::path() : std::filesystem::path(text.directory)) / path;
  const Result<SourcePtr> source = ReadSource(file.string(), from);
  if (!source) return tl::unexpected(source.error());
  const Result<std::vector<Json>> records = ReadRecords(*source);
  if (!records) return tl::unexpected(records.error());
  return MeasurementsOf(*records);
}
}  // namespace

Result<Machine> ResolveCluster(SpecText& text) {
  if (!text.spec.has_cluster())
    return text.Fail("cluster", "missing",
                     "give gpu, nodes and gpus_per_node, or preset (a file in configs/clusters)");
  const v1::Cluster& given = text.spec.cluster();
  const Result<v1::Cluster> preset = ReadPreset(text);
  if (!preset) return tl::unexpected(preset.error());
  v1::Cluster cluster = Over(*preset, given);
  const Result<v1::Gpu> gpu = OverBase(text, cluster.gpu());
  if (!gpu) return tl::unexpected(gpu.error());
  const v1::Node node = CustomaryNode(*gpu, *preset);

  Machine machine;
  machine.gpu = GpuOf(*gpu);
  machine.name = given.has_preset() ? given.preset() : machine.gpu.name;
  machine.nodes = cluster.has_nodes() ? cluster.nodes() : 1;
  machine.gpus_per_node = given.has_gpus_per_node()  ? given.gpus_per_node()
                          : node.has_gpus_per_node() ? node.gpus_per_node()
                                                     : 1;
  const double gpus = static_cast<double>(machine.nodes) * machine.gpus_per_node;
  if (gpus > kMostGpus)
    return text.Fail(text.map.Find("cluster.nodes") ? "cluster.nodes" : "cluster.gpus_per_node",
                     fmt::format("makes {:.0f} GPUs in all", gpus),
                     fmt::format("expected up to {:.0f}", kMostGpus));
  machine.scale_up_domain =
      given.has_scale_up_domain() ? given.scale_up_domain() : DomainOf(node, machine.gpus_per_node);
  Result<ScaleUp> scale_up = ResolveScaleUp(text, node, *gpu);
  if (!scale_up) return tl::unexpected(scale_up.error());
  machine.scale_up = std::move(*scale_up);
  Result<ScaleOut> scale_out = ResolveScaleOut(text, node, machine.nodes, machine.gpus_per_node);
  if (!scale_out) return tl::unexpected(scale_out.error());
  machine.scale_out = std::move(*scale_out);
  Result<NcclSettings> nccl = ResolveNccl(text, cluster.nccl());
  if (!nccl) return tl::unexpected(nccl.error());
  machine.nccl = std::move(*nccl);
  machine.host = HostOf(given, node);
  machine.price_per_gpu_hour = cluster.price();
  if (cluster.has_profile()) {
    const Result<Measurements> measured = ReadProfile(text, cluster.profile());
    if (!measured) return tl::unexpected(measured.error());
    Apply(*measured, machine);
  }

  *cluster.mutable_gpu() = *gpu;
  *text.spec.mutable_cluster() = std::move(cluster);
  return machine;
}
}  // namespace shardplan
