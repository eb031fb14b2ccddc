// SPDX-License-Identifier: Apache-2.0
#include "planner/framework/rules.h"

#include <algorithm>
#include <charconv>

#include "planner/framework/rules_table.h"

namespace shardplan {
namespace {

// The number that a version starts with, and what follows its dot. No number: newer than all.
int TakeNumber(std::string_view& version) {
  constexpr int kNewest = 1 << 20;
  int number = 0;
  const auto [end, error] =
      std::from_chars(version.data(), version.data() + version.size(), number);
  if (error != std::errc()) {
    const bool gone = version.empty();
    version = {};
    return gone ? 0 : kNewest;
  }
  version.remove_prefix(static_cast<std::size_t>(end - version.data()));
  if (!version.empty() && version.front() == '.')
    version.remove_prefix(1);
  else
    version = {};  // "0.20rc1" is 0.20
  return number;
}

bool HasImpossibleNumbers(const Plan& plan) {
  const auto& [s, p, q] = plan;
  return std::min({s.tp, s.cp, s.ep, s.etp, s.micro_batch_size, p.pp, p.vpp, p.dp}) < 1 ||
         q.zero_stage < 0 || q.zero_group < 0;
}
}  // namespace

int CompareVersions(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const int left = TakeNumber(a), right = TakeNumber(b);
    if (left != right) return left < right ? -1 : 1;
  }
  return 0;
}

const std::vector<Rule>& Rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    AddShardingRules(all);
    AddPlacementRules(all);
    AddPolicyRules(all);
    AddMegatronRules(all);
    AddTorchRules(all);
    AddDeepspeedRules(all);
    return all;
  }();
  return rules;
}

std::vector<const Rule*> RulesInForce(const Training& training) {
  const std::string_view version = training.framework_version;
  std::vector<const Rule*> rules;
  for (const Rule& rule : Rules()) {
    if (!(rule.frameworks & SetOf(training.framework))) continue;
    if (rule.since != nullptr && CompareVersions(version, rule.since) < 0) continue;
    if (rule.until != nullptr && CompareVersions(version, rule.until) >= 0) continue;
    rules.push_back(&rule);
  }
  std::stable_sort(rules.begin(), rules.end(),
                   [](const Rule* a, const Rule* b) { return a->binding < b->binding; });
  return rules;
}

std::vector<Reason> BrokenRules(const Model& model, const Machine& machine,
                                const Training& training, const Plan& plan) {
  if (HasImpossibleNumbers(plan)) return {{"G0", "degrees and sizes of a plan are at least 1"}};
  const Proposal proposal{
      model,         machine,        training,   FrameworkOf(training.framework),
      plan.sharding, plan.placement, plan.policy};
  std::vector<Reason> reasons;
  for (const Rule* rule : RulesInForce(training))
    if (rule->broken(proposal)) reasons.push_back({rule->id, rule->text(proposal)});
  return reasons;
}

void AddShared(std::vector<Rule>& rules, const Ids& ids, Binding binding,
               bool (*broken)(const Proposal&), std::string (*text)(const Proposal&),
               bool (*concerns)(const Proposal&)) {
  const auto add = [&](const char* id, FrameworkSet frameworks) {
    if (id != nullptr)
      rules.push_back({id, frameworks, binding, broken, text, nullptr, nullptr, concerns});
  };
  add(ids.megatron, SetOf(FrameworkId::kMegatron));
  add(ids.torchtitan, SetOf(FrameworkId::kTorchtitan));
  add(ids.deepspeed, SetOf(FrameworkId::kDeepspeed));
  add(ids.hf, SetOf(FrameworkId::kHf));
  add(ids.other, SetOf(FrameworkId::kFsdp) | SetOf(FrameworkId::kDdp) |
                     SetOf(FrameworkId::kNanotron) | SetOf(FrameworkId::kNative));
}

std::string ListAround(const std::vector<int>& values, int asked) {
  constexpr std::ptrdiff_t kMost = 12;
  if (values.empty()) return "none";
  const auto at = std::lower_bound(values.begin(), values.end(), asked) - values.begin();
  const auto count = static_cast<std::ptrdiff_t>(values.size());
  const auto first =
      std::clamp<std::ptrdiff_t>(at - kMost / 2, 0, std::max<std::ptrdiff_t>(0, count - kMost));
  const auto last = std::min(count, first + kMost);
  std::string text = first > 0 ? "..." : "";
  for (auto i = first; i < last; ++i)
    text += (text.empty() ? "" : " ") + std::to_string(values[static_cast<std::size_t>(i)]);
  return last < count ? text + " ..." : text;
}

Proposal With(const Proposal& p, const Sharding& sharding) {
  return {p.model, p.machine, p.training, p.framework, sharding, p.placement, p.policy};
}
Proposal With(const Proposal& p, const Placement& placement) {
  return {p.model, p.machine, p.training, p.framework, p.sharding, placement, p.policy};
}

std::string WorkingSharding(const Proposal& proposal, int Sharding::*choice, int limit,
                            bool (*broken)(const Proposal&)) {
  Sharding other = proposal.sharding;
  return Working(limit, proposal.sharding.*choice, [&](int value) {
    other.*choice = value;
    return !broken(With(proposal, other));
  });
}

std::string WorkingPlacement(const Proposal& proposal, int Placement::*choice, int limit,
                             bool (*broken)(const Proposal&)) {
  Placement other = proposal.placement;
  return Working(limit, proposal.placement.*choice, [&](int value) {
    other.*choice = value;
    return !broken(With(proposal, other));
  });
}

std::string FrameworksWith(bool (*has)(const Framework&)) {
  std::string names;
  for (const Framework& framework : Frameworks())
    if (has(framework)) names += (names.empty() ? "" : ", ") + std::string(framework.name);
  return names;
}
}  // namespace shardplan
