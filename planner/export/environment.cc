// SPDX-License-Identifier: Apache-2.0
#include "planner/export/environment.h"

#include <fmt/format.h>

#include "planner/export/shell.h"

namespace shardplan {

std::vector<Variable> CommonVariables(const ExportJob& job) {
  std::vector<Variable> variables;
  const NcclSettings& nccl = job.machine().nccl;
  for (const auto& [name, value] : nccl.variables)
    variables.push_back({name, value, "in force on the cluster of the spec"});
  if (!nccl.nvls && nccl.variables.count("NCCL_NVLS_ENABLE") == 0)
    variables.push_back({"NCCL_NVLS_ENABLE", "0", "the prediction takes NVLS to be off"});
  if (job.training().expandable_segments)
    variables.push_back({"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True",
                         "the memory predicted is that of expandable segments"});
  return variables;
}

Variable DeviceConnections(const ExportJob& job, bool sharded_parameters) {
  if (sharded_parameters)
    return {"CUDA_DEVICE_MAX_CONNECTIONS", "", "Megatron-FSDP refuses 1 (M13)"};
  const Sharding& s = job.plan().sharding;
  return {"CUDA_DEVICE_MAX_CONNECTIONS", "1",
          s.tp > 1 || s.cp > 1
              ? "Megatron asserts it under tp or cp before Blackwell (M14)"
              : "kernels and collectives are launched in the order that Megatron means"};
}

File EnvironmentFile(const std::vector<Variable>& variables) {
  std::string text = "# shellcheck shell=bash\n# Variables that the plan's prediction rests on.\n";
  for (const auto& [name, value, why] : variables)
    text += value.empty() ? fmt::format("unset {}  # {}\n", name, why)
                          : fmt::format("export {}={}  # {}\n", name, Quoted(value), why);
  return {"env.sh", text};
}
}  // namespace shardplan
