// SPDX-License-Identifier: Apache-2.0
// Descriptions of machines become cluster sections, with warnings for what is degraded.
#include <gmock/gmock.h>

#include "tests/import/import_fixtures.h"

namespace shardplan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::ImportError;
using testing::ImportText;
using ::testing::IsEmpty;

Imported Cluster(const std::string& text, std::vector<std::string> sets = {}) {
  const Result<Imported> imported = ImportText("file", text, std::move(sets));
  EXPECT_TRUE(imported.has_value()) << imported.error().message;
  return imported ? *imported : Imported();
}

TEST(TopologyMatrix, CountsGpusAndSeesWhatIsFar) {
  const Imported imported = Cluster(
      "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
      "GPU0\t X \tNV18\tPIX\t0-47\t0\n"
      "GPU1\tNV18\t X \tSYS\t48-95\t1\n"
      "NIC0\tPIX\tSYS\t X \t\t\n\nLegend:\n\n  X    = Self\nNIC Legend:\n\n  NIC0: mlx5_0\n");
  EXPECT_EQ(imported.spec.cluster().gpus_per_node(), 2);
  EXPECT_THAT(imported.warnings,
              Contains(HasSubstr("GPU1 has no network card behind its PCIe switch")));
  EXPECT_FALSE(imported.spec.cluster().has_scale_up());
}

TEST(TopologyMatrix, WithoutNvlinkIsPcie) {
  const Imported imported =
      Cluster("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t0-7\nGPU1\tSYS\t X \t8-15\n");
  EXPECT_EQ(imported.spec.cluster().scale_up().kind(), "pcie4");
  EXPECT_THAT(imported.warnings,
              Contains("GPU0 and GPU1 meet over SYS alone: no NVLink between them"));
}

TEST(NvidiaSmi, NamesTheGpuAndItsLimits) {
  const Imported imported = Cluster(R"(<?xml version="1.0" ?>
<nvidia_smi_log>
 <gpu id="00000000:01:00.0">
  <product_name>NVIDIA H100 80GB HBM3</product_name>
  <pci><pci_gpu_link_info>
   <pcie_gen><max_host_link_gen>4</max_host_link_gen><max_device_link_gen>5</max_device_link_gen></pcie_gen>
   <link_widths><max_link_width>16x</max_link_width><current_link_width>8x</current_link_width></link_widths>
  </pci_gpu_link_info></pci>
  <fb_memory_usage><total>81559 MiB</total></fb_memory_usage>
  <gpu_power_readings><current_power_limit>500.00 W</current_power_limit>
   <default_power_limit>700.00 W</default_power_limit></gpu_power_readings>
 </gpu>
</nvidia_smi_log>)");
  EXPECT_EQ(imported.spec.cluster().gpu().base(), "h100-sxm-80gb");
  EXPECT_EQ(imported.spec.cluster().gpu().power_limit(), 500);
  EXPECT_THAT(imported.warnings, Contains(HasSubstr("the slot has x8 of x16 lanes")));
  EXPECT_THAT(imported.warnings, Contains(HasSubstr("the host offers PCIe 4 to a card of PCIe 5")));
}

TEST(NcclTopology, CountsCardsAndTheirRate) {
  const Imported imported = Cluster(R"(<system version="1">
  <cpu numaid="0"><pci busid="0000:07:00.0" class="0x060400" link_width="16">
    <pci busid="0000:0a:00.0" class="0x030200" link_width="16">
      <gpu dev="0" sm="90" rank="0" gdr="1"><nvlink target="0000:c4:00.0" count="18" tclass="0x068000"/></gpu></pci>
    <pci busid="0000:0b:00.0" class="0x030200" link_width="8"><gpu dev="1" sm="90" rank="1" gdr="1">
      <nvlink target="0000:c4:00.0" count="18" tclass="0x068000"/></gpu></pci>
    <nic><net name="mlx5_0" dev="0" speed="400000" port="1" gdr="1"/></nic></pci></cpu>
</system>)",
                                    {"cluster.gpu=h100-sxm-80gb"});
  EXPECT_EQ(imported.spec.cluster().gpus_per_node(), 2);
  EXPECT_EQ(imported.spec.cluster().scale_out().nics(), 1);
  EXPECT_EQ(imported.spec.cluster().scale_out().rate(), 50e9);
  EXPECT_THAT(imported.warnings, Contains("GPU 0000:0b:00.0: the slot has x8 of x16 lanes"));
}

TEST(SlurmNodes, CountsThoseThatAreUp) {
  const Imported imported = Cluster(
      "NodeName=a1 CPUTot=96 Gres=gpu:h200:8(S:0-1) RealMemory=2000000 State=IDLE Partitions=p\n"
      "NodeName=a2 CPUTot=96 Gres=gpu:h200:8(S:0-1) RealMemory=2000000 State=MIXED\n"
      "NodeName=a3 Gres=gpu:h200:8 RealMemory=2000000 State=DOWN*\n"
      "NodeName=b1 Gres=gpu:a100:4 RealMemory=500000 State=IDLE\nNodeName=c1 Gres=(null) "
      "State=IDLE\n");
  EXPECT_EQ(imported.spec.cluster().nodes(), 2);
  EXPECT_EQ(imported.spec.cluster().gpus_per_node(), 8);
  EXPECT_EQ(imported.spec.cluster().host_memory(), 2000000.0 * (1 << 20));
  EXPECT_THAT(imported.warnings, Contains("a3 is DOWN*: not counted"));
  EXPECT_THAT(imported.warnings, Contains("1 nodes with gpu:a100:4 are not counted"));
}

TEST(Kubernetes, ReadsFeatureDiscovery) {
  const Imported imported = Cluster(R"({"apiVersion": "v1", "kind": "List", "items": [
    {"metadata": {"labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "8", "nvidia.com/gpu.memory": "81559"}}},
    {"metadata": {"labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "8", "nvidia.com/gpu.memory": "81559"}}},
    {"metadata": {"labels": {"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.replicas": "4"}}},
    {"metadata": {"labels": {"kubernetes.io/os": "linux"}}}]})");
  EXPECT_EQ(imported.spec.cluster().nodes(), 2);
  EXPECT_EQ(imported.spec.cluster().gpu().base(), "h100-sxm-80gb");
  EXPECT_THAT(imported.warnings, Contains(HasSubstr("shares its GPUs between jobs")));
}

TEST(Lspci, SeesNarrowLinks) {
  const Imported imported = Cluster(
      "17:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB]\n"
      "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
      "\t\tLnkSta:\tSpeed 32GT/s (ok), Width x8 (downgraded)\n"
      "18:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n"
      "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16\n\t\tLnkSta:\tSpeed 16GT/s (downgraded), "
      "Width x16 (ok)\n");
  EXPECT_EQ(imported.spec.cluster().gpus_per_node(), 1);
  EXPECT_THAT(imported.warnings, Contains("17:00.0 (GPU): the slot has x8 of x16 lanes"));
  EXPECT_THAT(imported.warnings,
              Contains(HasSubstr("18:00.0 (network card): the link runs at 16 of 32 GT/s")));
}

TEST(Topology, FilesOfOneClusterJoinAScript) {
  const Result<Imported> imported =
      Import({{"run.sh",
               "torchrun t.py --model_name_or_path gpt2 --per_device_train_batch_size 4 "
               "--block_size 1024 --output_dir o"},
              {"nodes", "NodeName=a Gres=gpu:a100:4 RealMemory=1000 State=IDLE\n"}},
             {.sets = {"cluster.gpu=a100-sxm-40gb"}});
  ASSERT_TRUE(imported.has_value()) << imported.error().message;
  EXPECT_EQ(imported->spec.train().global_batch_size(), 16);
  EXPECT_THAT(imported->missing, IsEmpty());
}

TEST(Topology, BrokenFilesAreSaid) {
  EXPECT_THAT(ImportError("smi.xml", "<nvidia_smi_log><gpu>"), HasSubstr("smi.xml:1"));
  EXPECT_THAT(ImportError("smi.xml", "<nvidia_smi_log></nvidia_smi_log>"), HasSubstr("has no GPU"));
  EXPECT_THAT(ImportError("nodes", "NodeName=a State=IDLE\n"),
              HasSubstr("has no node with Gres=gpu"));
}
}  // namespace
}  // namespace shardplan
