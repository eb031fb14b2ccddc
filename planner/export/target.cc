// SPDX-License-Identifier: Apache-2.0
#include "planner/export/target.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/base/nearest.h"
#include "planner/framework/rules.h"

namespace shardplan {
namespace {

std::vector<std::string> Names(const Target& target) {
  std::vector<std::string> names;
  for (const std::string_view version : target.versions)
    names.push_back(fmt::format("{}@{}", target.name, version));
  return names;
}

// 0.18.2 is a release of 0.18.
bool IsOf(std::string_view version, std::string_view recorded) {
  return version == recorded ||
         (version.substr(0, recorded.size()) == recorded && version[recorded.size()] == '.');
}
}  // namespace

const std::vector<Target>& Targets() {
  static const std::vector<Target> targets{
      {"megatron",
       {"0.18", "0.19"},
       {FrameworkId::kMegatron},
       WriteMegatron,
       "Megatron-LM's pretrain_gpt.py"},
      {"torchtitan",
       {"0.2", "0.3"},
       {FrameworkId::kTorchtitan},
       WriteTorchtitan,
       "torchtitan: TOML (0.2), a Python program (0.3)"},
      {"deepspeed",
       {"0.19"},
       {FrameworkId::kDeepspeed},
       WriteDeepspeed,
       "DeepSpeed's JSON under transformers' Trainer"},
      {"nanotron", {"0.4"}, {FrameworkId::kNanotron}, WriteNanotron, "nanotron's YAML"},
      {"hf", {"5.17"}, {FrameworkId::kHf}, WriteHf, "transformers' Trainer over DDP or FSDP2"},
      {"accelerate",
       {"1.15"},
       {FrameworkId::kHf, FrameworkId::kFsdp},
       WriteAccelerate,
       "a loop under accelerate, with FSDP2"},
      {"fsdp",
       {"2.9", "2.10", "2.11"},
       {FrameworkId::kFsdp},
       WriteFsdp,
       "a loop over PyTorch's fully_shard"},
      {"ddp",
       {"2.9", "2.10", "2.11"},
       {FrameworkId::kDdp},
       WriteDdp,
       "a loop over PyTorch's DistributedDataParallel"},
  };
  return targets;
}

Result<Chosen> ChooseTarget(std::string_view name, std::string_view wanted) {
  const std::size_t at = name.find('@');
  const std::string_view word = name.substr(0, at);
  const auto found = std::find_if(Targets().begin(), Targets().end(),
                                  [&](const Target& t) { return t.name == word; });
  if (found == Targets().end()) {
    std::vector<std::string> names;
    for (const Target& target : Targets()) names.emplace_back(target.name);
    return Invalid(
        fmt::format("there is no target '{}': {}", word, Suggest(word, names, "it takes")));
  }
  const std::string_view version = at == std::string_view::npos ? wanted : name.substr(at + 1);
  if (version.empty() && at == std::string_view::npos)
    return Chosen{&*found, std::string(found->versions.back())};
  for (const std::string_view recorded : found->versions)
    if (IsOf(version, recorded)) return Chosen{&*found, std::string(recorded)};
  std::string known;
  for (const std::string& each : Names(*found)) known += (known.empty() ? "" : ", ") + each;
  return Invalid(fmt::format("the flags of {} {} are not recorded; these are: {}", word,
                             version.empty() ? "without a version" : version, known));
}

tl::unexpected<Error> Cannot(std::string message) {
  return tl::unexpected<Error>(Error{Code::kFailedPrecondition, std::move(message)});
}
}  // namespace shardplan
