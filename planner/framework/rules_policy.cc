// SPDX-License-Identifier: Apache-2.0
// Rules on how state and traffic are handled, shared by several frameworks.
#include <fmt/format.h>

#include <algorithm>

#include "planner/framework/rules_table.h"
#include "planner/plan/axes.h"

namespace shardplan {
namespace {

bool LacksZeroStage(const Proposal& p) {
  const std::vector<int>& stages = p.framework.zero_stages;
  return std::find(stages.begin(), stages.end(), p.policy.zero_stage) == stages.end();
}
std::string LacksZeroStageText(const Proposal& p) {
  return fmt::format("{} has no zero_stage {}; it has: {}", p.framework.name, p.policy.zero_stage,
                     fmt::join(p.framework.zero_stages, " "));
}

bool LacksOffload(const Proposal& p) {
  switch (p.policy.offload) {
    case Offload::kNone:
      return false;
    case Offload::kOptimizer:
      return !p.framework.offload_optimizer;
    case Offload::kOptimizerAndParams:
      return !p.framework.offload_params;
    case Offload::kActivations:
      return !p.framework.offload_activations;
  }
  return false;
}
std::string LacksOffloadText(const Proposal& p) {
  const Framework& f = p.framework;
  std::string has = "none";
  if (f.offload_optimizer) has += ", optimizer";
  if (f.offload_params) has += ", optimizer+params";
  if (f.offload_activations) has += ", activations";
  return fmt::format("{} has no offload of {}; it has: {}", f.name, Name(p.policy.offload), has);
}

// The least zero_stage with which a framework offloads that much.
int LeastZeroForOffload(const Proposal& p) {
  const FrameworkId id = p.framework.id;
  if (p.policy.offload == Offload::kOptimizer) return 1;
  if (p.policy.offload != Offload::kOptimizerAndParams) return 0;
  return id == FrameworkId::kDeepspeed ? 3 : 2;
}
bool OffloadsUnsharded(const Proposal& p) {
  return !LacksOffload(p) && p.policy.zero_stage < LeastZeroForOffload(p);
}
std::string OffloadsUnshardedText(const Proposal& p) {
  const int least = LeastZeroForOffload(p);
  std::string works;
  for (const int stage : p.framework.zero_stages)
    if (stage >= least) works += " " + std::to_string(stage);
  return fmt::format("{} offloads {} only of sharded state, and zero_stage is {}; these work:{}",
                     p.framework.name, Name(p.policy.offload), p.policy.zero_stage, works);
}

bool OffloadsToNvme(const Proposal& p) {
  const bool state =
      p.policy.offload == Offload::kOptimizer || p.policy.offload == Offload::kOptimizerAndParams;
  const bool deepspeed =
      p.framework.id == FrameworkId::kDeepspeed || p.framework.id == FrameworkId::kHf;
  return p.policy.offload_to == OffloadTo::kNvme && p.policy.offload != Offload::kNone &&
         !(state && deepspeed);
}
std::string OffloadsToNvmeText(const Proposal& p) {
  return fmt::format(
      "{} does not offload {} to nvme; offload_to cpu works (deepspeed and hf offload optimizer "
      "and params to nvme)",
      p.framework.name, Name(p.policy.offload));
}

bool GroupsNothing(const Proposal& p) {
  return p.policy.zero_group > 0 && p.policy.zero_stage == 0;
}
std::string GroupsNothingText(const Proposal& p) {
  return fmt::format(
      "zero_group {} says how many ranks share one shard, and zero_stage 0 shards nothing; leave "
      "it "
      "out, or set zero_stage > 0",
      p.policy.zero_group);
}

Wide DataRanks(const Proposal& p) { return Wide{p.placement.dp} * p.sharding.cp; }

bool HasNoGroups(const Proposal& p) { return !p.framework.hybrid_shard; }
bool LacksGroups(const Proposal& p) {
  return p.policy.zero_group > 0 && HasNoGroups(p) && p.policy.zero_group != DataRanks(p);
}
std::string LacksGroupsText(const Proposal& p) {
  return fmt::format(
      "{} shards over all data ranks ({}), not over groups of {}; leave zero_group "
      "out; these have groups: {}",
      p.framework.name, DataRanks(p), p.policy.zero_group,
      FrameworksWith([](const Framework& x) { return x.hybrid_shard; }));
}

bool UncutGroups(const Proposal& p) {
  return p.policy.zero_group > 0 && DataRanks(p) % p.policy.zero_group != 0;
}
std::string UncutGroupsText(const Proposal& p) {
  const Wide ranks = DataRanks(p);
  return fmt::format(
      "zero_group {} does not divide the {} data ranks (dp {} x cp {}); of 1..{} these work: {}",
      p.policy.zero_group, ranks, p.placement.dp, p.sharding.cp, ranks,
      Working(static_cast<int>(std::min<Wide>(ranks, p.machine.Gpus())), p.policy.zero_group,
              [&](int group) { return ranks % group == 0; }));
}
}  // namespace

void AddPolicyRules(std::vector<Rule>& rules) {
  AddShared(rules, {"G10", "G10", "G10", "G10", "G10"}, Binding::kState, LacksZeroStage,
            LacksZeroStageText);
  AddShared(rules, {"G12", "G12", nullptr, "G12", "G12"}, Binding::kState, LacksOffload,
            LacksOffloadText);
  AddShared(rules, {"M15", "G12", "D5", "G12", "G12"}, Binding::kState, OffloadsUnsharded,
            OffloadsUnshardedText);
  AddShared(rules, {"G12", "G12", "G12", "G12", "G12"}, Binding::kState, OffloadsToNvme,
            OffloadsToNvmeText);
  AddShared(rules, {"G11", "G11", "G11", "G11", "G11"}, Binding::kState, GroupsNothing,
            GroupsNothingText);
  AddShared(rules, {nullptr, nullptr, nullptr, nullptr, "G11"}, Binding::kPolicy, LacksGroups,
            LacksGroupsText, HasNoGroups);
  AddShared(rules, {"G11", "G11", "G11", "G11", "G11"}, Binding::kPolicy, UncutGroups,
            UncutGroupsText);
}
}  // namespace shardplan
