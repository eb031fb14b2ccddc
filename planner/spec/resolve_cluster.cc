// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "planner/spec/resolve.h"
#include "planner/spec/resolve_links.h"

namespace shardplan {
namespace {

constexpr double kMostGpus = 10'000'000;

// The preset's keys under those of the spec. Naming another GPU, link or network replaces all that
// the preset says of it.
Result<v1::Cluster> OverPreset(const SpecText& text) {
  const v1::Cluster& given = text.spec.cluster();
  if (!given.has_preset()) return given;
  if (given.preset() == "local")
    return text.Fail("cluster", "local is not supported yet",
                     "name a file in configs/clusters, or give gpu, nodes and gpus_per_node");
  v1::Cluster cluster;
  SourceMap map;
  const Result<void> read =
      ReadEntry("clusters", given.preset(), text.Refer("cluster.preset"), &cluster, &map);
  if (!read) return tl::unexpected(read.error());
  if (given.gpu().has_base()) cluster.clear_gpu();
  if (given.scale_up().has_kind()) cluster.clear_scale_up();
  if (given.scale_out().has_form()) cluster.clear_scale_out();
  cluster.MergeFrom(given);
  return cluster;
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

}  // namespace

Result<Machine> ResolveCluster(SpecText& text) {
  if (!text.spec.has_cluster())
    return text.Fail("cluster", "missing",
                     "give gpu, nodes and gpus_per_node, or preset (a file in configs/clusters)");
  Result<v1::Cluster> cluster = OverPreset(text);
  if (!cluster) return tl::unexpected(cluster.error());
  if (cluster->has_profile())
    return text.Fail("cluster.profile", "profiles of measurements are not supported yet",
                     "leave it out: the catalogue's figures are used");
  const Result<v1::Gpu> gpu = OverBase(text, cluster->gpu());
  if (!gpu) return tl::unexpected(gpu.error());
  const v1::Node& node = gpu->node();

  Machine machine;
  machine.gpu = GpuOf(*gpu);
  machine.name = cluster->has_preset() ? cluster->preset() : machine.gpu.name;
  machine.nodes = cluster->has_nodes() ? cluster->nodes() : 1;
  machine.gpus_per_node = cluster->has_gpus_per_node() ? cluster->gpus_per_node()
                          : node.has_gpus_per_node()   ? node.gpus_per_node()
                                                       : 1;
  const double gpus = static_cast<double>(machine.nodes) * machine.gpus_per_node;
  if (gpus > kMostGpus)
    return text.Fail("cluster.nodes", fmt::format("{:.0f} GPUs in all", gpus),
                     fmt::format("expected up to {:.0f}", kMostGpus));
  machine.scale_up_domain = cluster->has_scale_up_domain() ? cluster->scale_up_domain()
                                                           : DomainOf(node, machine.gpus_per_node);
  Result<ScaleUp> scale_up = ResolveScaleUp(text, cluster->scale_up(), *gpu);
  if (!scale_up) return tl::unexpected(scale_up.error());
  machine.scale_up = std::move(*scale_up);
  Result<ScaleOut> scale_out =
      ResolveScaleOut(text, cluster->scale_out(), *gpu, machine.nodes, machine.gpus_per_node);
  if (!scale_out) return tl::unexpected(scale_out.error());
  machine.scale_out = std::move(*scale_out);
  Result<NcclSettings> nccl = ResolveNccl(text, cluster->nccl());
  if (!nccl) return tl::unexpected(nccl.error());
  machine.nccl = std::move(*nccl);
  machine.host = HostOf(*cluster, node);
  machine.price_per_gpu_hour = cluster->price();

  *cluster->mutable_gpu() = *gpu;
  *text.spec.mutable_cluster() = std::move(*cluster);
  return machine;
}
}  // namespace shardplan
