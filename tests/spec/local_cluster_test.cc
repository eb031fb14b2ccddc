// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/local_cluster.h"

#include <gtest/gtest.h>

#include "planner/spec/problem.h"

namespace shardplan {
namespace {

// As NVML names them, with the memory that it reports (MiB).
TEST(LocalCluster, NvmlsNamesAreFoundInTheCatalogue) {
  std::vector<std::pair<std::string, double>> entries;
  for (const std::string& name : EntryNames("gpus")) {
    v1::Gpu entry;
    SourceMap map;
    ASSERT_TRUE(ReadEntry("gpus", name, {}, &entry, &map)) << name;
    entries.emplace_back(name, entry.memory());
  }
  struct Case {
    const char *nvml, *entry;
    double mebibytes;
  };
  for (const Case& one : {Case{"NVIDIA H200", "h200-sxm", 143771},
                          {"NVIDIA H200 NVL", "h200-nvl", 143771},
                          {"NVIDIA H100 80GB HBM3", "h100-sxm-80gb", 81559},
                          {"NVIDIA H100 PCIe", "h100-pcie-80gb", 81559},
                          {"NVIDIA H100 NVL", "h100-nvl", 95830},
                          {"NVIDIA A100-SXM4-40GB", "a100-sxm-40gb", 40960},
                          {"NVIDIA A100-SXM4-80GB", "a100-sxm-80gb", 81920},
                          {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb", 81920},
                          {"Tesla V100-SXM2-16GB", "v100-sxm-16gb", 16384},
                          {"Tesla V100-SXM2-32GB", "v100-sxm-32gb", 32768},
                          {"Tesla T4", "t4", 15360},
                          {"NVIDIA L40S", "l40s", 46068},
                          {"NVIDIA GeForce RTX 4090", "rtx-4090", 24564},
                          {"NVIDIA RTX A6000", "rtx-a6000", 49140},
                          {"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada", 49140},
                          {"NVIDIA GH200 144G HBM3e", "gh200", 143771},
                          {"NVIDIA GH200 480GB", "", 97871},
                          {"NVIDIA B200", "b200-sxm", 183359},
                          {"NVIDIA GeForce GTX 1080", "", 8192},
                          {"NVIDIA H100 80GB HBM3", "", 20000}})
    EXPECT_EQ(EntryOf({one.nvml, one.mebibytes * 1048576, 0}, entries), one.entry) << one.nvml;
}

TEST(LocalCluster, DescribesThisMachine) {
  const Result<Problem> problem =
      ParseProblem("cluster: local\n", "spec.yaml", {}, Needs::kCluster);
  if (!LocalGpus().empty() && !problem) GTEST_SKIP() << problem.error().message;
  ASSERT_TRUE(problem) << problem.error().message;
  const Machine& machine = problem->machine;
  EXPECT_EQ(machine.nodes, 1);
  EXPECT_EQ(machine.gpus_per_node, std::max<std::size_t>(1, LocalGpus().size()));
  EXPECT_GT(machine.gpu.memory.value, 1e8);
  EXPECT_GT(machine.gpu.fp32.value, 1e9);
  EXPECT_GT(machine.host.memory.value, 1e8);
}

TEST(LocalCluster, KeysOverrideWhatWasFound) {
  const Result<Problem> problem =
      ParseProblem("cluster: {preset: local, gpu: h100-sxm-80gb, gpus_per_node: 4}\n", "spec.yaml",
                   {}, Needs::kCluster);
  ASSERT_TRUE(problem) << problem.error().message;
  EXPECT_EQ(problem->machine.gpus_per_node, 4);
  EXPECT_EQ(problem->machine.gpu.name, "h100-sxm-80gb");
}
}  // namespace
}  // namespace shardplan
