// SPDX-License-Identifier: Apache-2.0
#include "planner/import/detect.h"

#include <algorithm>
#include <set>
#include <vector>

#include "planner/spec/yaml_tree.h"

namespace shardplan {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Lines that begin with `beginning`.
bool HasLine(std::string_view text, std::string_view beginning) {
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with(beginning)) return true;
    at = text.find('\n', at);
    if (at == std::string_view::npos) return false;
    ++at;
  }
  return false;
}

// The keys at the top of a document that is a mapping, as far as it can be read.
std::set<std::string> TopKeys(std::string_view text) {
  std::set<std::string> keys;
  const Result<YamlNode> tree = ParseYaml(MakeSource("", std::string(text)));
  if (!tree) {
    // A mistake further down does not hide what the file is.
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line = text.substr(at, end - at);
      at = end + 1;
      while (!line.empty() && (line[0] == ' ' || line[0] == '{' || line[0] == '\t'))
        line.remove_prefix(1);
      const bool quoted = !line.empty() && line[0] == '"';
      if (quoted) line.remove_prefix(1);
      const std::size_t stop = line.find(quoted ? '"' : ':');
      if (stop != std::string_view::npos && stop > 0) keys.emplace(line.substr(0, stop));
    }
    return keys;
  }
  for (const YamlMember& member : tree->members) keys.insert(member.key);
  return keys;
}

FileKind KindOfDocument(std::string_view text) {
  const std::set<std::string> keys = TopKeys(text);
  const auto any = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](const char* name) { return keys.count(name) > 0; });
  };
  if (any({"kind"}) && any({"apiVersion"})) return FileKind::kKubernetes;
  if (any({"compute_environment", "distributed_type", "fsdp_config"}) &&
      !any({"per_device_train_batch_size"}))
    return FileKind::kAccelerate;
  if (any({"per_device_train_batch_size", "model_name_or_path", "num_train_epochs", "output_dir"}))
    return FileKind::kTrainer;
  if (any({"zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu",
           "steps_per_print", "zero_allow_untested_optimizer", "activation_checkpointing"}))
    return FileKind::kDeepspeed;
  if (any({"model_type", "architectures"}) &&
      any({"hidden_size", "n_embd", "d_model", "num_hidden_layers", "vocab_size"}))
    return FileKind::kModelConfig;
  if (any({"model", "cluster", "train", "plan"}) && !any({"job", "training", "optimizer"}))
    return FileKind::kSpec;
  return FileKind::kUnknown;
}
}  // namespace

FileKind KindOf(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return FileKind::kUnknown;
  const char c = text[first];
  if (c == '<')
    return Has(text, "<nvidia_smi_log") ? FileKind::kNvidiaSmi
           : Has(text, "<system")       ? FileKind::kNcclTopology
                                        : FileKind::kUnknown;
  if (HasLine(text, "#!") || HasLine(text, "#SBATCH")) return FileKind::kShell;
  if (HasLine(text, "NodeName=")) return FileKind::kSlurmNodes;
  if (HasLine(text, "SwitchName=") || HasLine(text, "BlockName=")) return FileKind::kSlurmTopology;
  if (Has(text, "GPU0") && (Has(text, "CPU Affinity") || Has(text, "Legend:")))
    return FileKind::kTopologyMatrix;
  if (Has(text, "LnkSta:") || Has(text, "LnkCap:")) return FileKind::kLspci;
  if (c == '{') return KindOfDocument(text);
  if (HasLine(text, "[parallelism]") || HasLine(text, "[training]") || HasLine(text, "[model]"))
    return FileKind::kTorchtitan;
  const bool arguments = Has(text, "--") || Has(text, ".py");
  const FileKind document = c == '-' ? FileKind::kUnknown : KindOfDocument(text);
  if (document != FileKind::kUnknown && document != FileKind::kSpec) return document;
  if (document == FileKind::kSpec && !arguments) return document;
  return arguments ? FileKind::kShell : document;
}

bool DescribesCluster(FileKind kind) { return kind >= FileKind::kTopologyMatrix; }

std::string_view Describe(FileKind kind) {
  switch (kind) {
    case FileKind::kShell:
      return "a shell script or arguments";
    case FileKind::kDeepspeed:
      return "a DeepSpeed configuration";
    case FileKind::kTrainer:
      return "transformers' TrainingArguments";
    case FileKind::kAccelerate:
      return "an accelerate configuration";
    case FileKind::kTorchtitan:
      return "torchtitan's TOML";
    case FileKind::kModelConfig:
      return "a Hugging Face config.json";
    case FileKind::kSpec:
      return "a spec of shardplan";
    case FileKind::kTopologyMatrix:
      return "nvidia-smi topo -m";
    case FileKind::kNvidiaSmi:
      return "nvidia-smi -q -x";
    case FileKind::kNcclTopology:
      return "NCCL's topology";
    case FileKind::kSlurmNodes:
      return "scontrol show node";
    case FileKind::kSlurmTopology:
      return "scontrol show topology";
    case FileKind::kKubernetes:
      return "Kubernetes nodes";
    case FileKind::kLspci:
      return "lspci -vv";
    case FileKind::kUnknown:
      break;
  }
  return "unknown";
}
}  // namespace shardplan
