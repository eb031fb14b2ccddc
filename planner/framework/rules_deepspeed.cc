// SPDX-License-Identifier: Apache-2.0
// Rules that only DeepSpeed has.
#include <fmt/format.h>

#include "planner/framework/rules_table.h"

namespace shardplan {
namespace {

// D3.
bool HasPipeline(const Proposal& p) { return p.placement.pp > 1; }
bool ShardsInPipeline(const Proposal& p) { return p.placement.pp > 1 && p.policy.zero_stage >= 2; }
std::string ShardsInPipelineText(const Proposal& p) {
  return fmt::format("the pipeline engine has zero_stage 0 and 1, not {}; these work: 0 1, or pp 1",
                     p.policy.zero_stage);
}

// D8: AutoEP.
const char* NoExpertsBeside(const Proposal& p) {
  const Sharding& s = p.sharding;
  if (s.ep == 1) return nullptr;
  if (p.policy.zero_stage == 3) {
    if (s.tp > 1) return "zero_stage 3 does not go with tp; zero_stage 0 1 2 or tp 1 works";
    if (s.cp > 1) return "zero_stage 3 does not go with cp; zero_stage 0 1 2 or cp 1 works";
    if (p.policy.zero_group > 0)
      return "zero_stage 3 does not go with zero_group; leave zero_group out";
  }
  if (s.tp == 1) return nullptr;
  if (p.placement.pp > 1) return "tp does not go with pp; pp 1 or tp 1 works";
  if (s.cp > 1) return "tp does not go with cp; cp 1 or tp 1 works";
  if (p.policy.offload != Offload::kNone) return "tp does not go with offload; offload none works";
  return nullptr;
}
bool HasExpertRanks(const Proposal& p) { return p.sharding.ep > 1; }
bool ExpertsClash(const Proposal& p) { return NoExpertsBeside(p) != nullptr; }
std::string ExpertsClashText(const Proposal& p) {
  return fmt::format("under ep {} {}", p.sharding.ep, NoExpertsBeside(p));
}

// D11: cpu_checkpointing moves what checkpointing keeps.
bool KeepsAll(const Proposal& p) { return p.sharding.recompute.kind == RecomputeKind::kNone; }
bool OffloadsWithoutCheckpoints(const Proposal& p) {
  return p.policy.offload == Offload::kActivations && KeepsAll(p);
}
std::string OffloadsWithoutCheckpointsText(const Proposal&) {
  return "DeepSpeed offloads the activations that checkpointing keeps, and recompute is none; "
         "recompute full works";
}

// D12: MiCS and hpZ.
bool GroupsBelowThree(const Proposal& p) {
  const std::int64_t ranks = Wide{p.placement.dp} * p.sharding.cp;
  return p.policy.zero_group > 0 && p.policy.zero_group != ranks && p.policy.zero_stage != 3 &&
         p.policy.zero_stage != 0;
}
std::string GroupsBelowThreeText(const Proposal& p) {
  return fmt::format(
      "zero_group {} (MiCS) needs zero_stage 3, and it is {}; leave zero_group out, or zero_stage "
      "3",
      p.policy.zero_group, p.policy.zero_stage);
}
}  // namespace

void AddDeepspeedRules(std::vector<Rule>& rules) {
  const auto add = [&](const char* id, bool (*broken)(const Proposal&),
                       std::string (*text)(const Proposal&),
                       bool (*concerns)(const Proposal&) = nullptr) {
    rules.push_back({.id = id,
                     .frameworks = SetOf(FrameworkId::kDeepspeed),
                     .binding = Binding::kPolicy,
                     .broken = broken,
                     .text = text,
                     .concerns = concerns});
  };
  add("D3", ShardsInPipeline, ShardsInPipelineText, HasPipeline);
  add("D8", ExpertsClash, ExpertsClashText, HasExpertRanks);
  add("D11", OffloadsWithoutCheckpoints, OffloadsWithoutCheckpointsText, KeepsAll);
  add("D12", GroupsBelowThree, GroupsBelowThreeText);
}
}  // namespace shardplan
