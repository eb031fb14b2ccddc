// SPDX-License-Identifier: Apache-2.0
// Which format a text is in, by its content.
#pragma once
#include <string>
#include <string_view>

namespace shardplan {

enum class FileKind {
  kUnknown,
  kShell,           // a script, or a list of arguments
  kDeepspeed,       // JSON
  kTrainer,         // TrainingArguments as JSON or YAML
  kAccelerate,      // YAML
  kTorchtitan,      // TOML
  kModelConfig,     // a Hugging Face config.json
  kSpec,            // a spec of shardplan
  kTopologyMatrix,  // nvidia-smi topo -m
  kNvidiaSmi,       // nvidia-smi -q -x
  kNcclTopology,    // NCCL_TOPO_DUMP_FILE
  kSlurmNodes,      // scontrol show node
  kSlurmTopology,   // scontrol show topology
  kKubernetes,      // kubectl get nodes -o json
  kLspci,           // lspci -vv
};
FileKind KindOf(std::string_view text);
bool DescribesCluster(FileKind kind);
// "a DeepSpeed configuration"
std::string_view Describe(FileKind kind);
}  // namespace shardplan
