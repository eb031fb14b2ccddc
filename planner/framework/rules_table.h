// SPDX-License-Identifier: Apache-2.0
// The parts of the rule table and what their messages share. Private to planner/framework.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "planner/framework/rules.h"

namespace shardplan {

// Parts of the table, in its order.
void AddShardingRules(
    std::vector<Rule>& rules);  // what several frameworks refuse, each with its id
void AddPlacementRules(std::vector<Rule>& rules);
void AddPolicyRules(std::vector<Rule>& rules);
void AddMegatronRules(std::vector<Rule>& rules);
void AddTorchRules(std::vector<Rule>& rules);  // torchtitan, FSDP, accelerate, nanotron
void AddDeepspeedRules(std::vector<Rule>& rules);

// The same rule under each framework's own id; null: the framework does not have it. `other` is for
// fsdp, ddp, nanotron and native.
struct Ids {
  const char *megatron, *torchtitan, *deepspeed, *hf, *other;
};
void AddShared(std::vector<Rule>& rules, const Ids& ids, Binding binding,
               bool (*broken)(const Proposal&), std::string (*text)(const Proposal&),
               bool (*concerns)(const Proposal&) = nullptr);
// "1 2 4 8": those of 1..limit that pass, at most twelve, the ones around `asked`; "none".
template <class Passes>
std::string Working(int limit, int asked, const Passes& passes);
std::string ListAround(const std::vector<int>& values, int asked);

// The proposal with another value of one choice.
Proposal With(const Proposal& proposal, const Sharding& sharding);
Proposal With(const Proposal& proposal, const Placement& placement);

// Values of one choice under which a rule is not broken.
std::string WorkingSharding(const Proposal& proposal, int Sharding::*choice, int limit,
                            bool (*broken)(const Proposal&));
std::string WorkingPlacement(const Proposal& proposal, int Placement::*choice, int limit,
                             bool (*broken)(const Proposal&));

std::string FrameworksWith(bool (*has)(const Framework&));  // "megatron, torchtitan"

// Products of degrees do not overflow.
using Wide = std::int64_t;

template <class Passes>
std::string Working(int limit, int asked, const Passes& passes) {
  std::vector<int> values;
  for (int value = 1; value <= limit; ++value)
    if (passes(value)) values.push_back(value);
  return ListAround(values, asked);
}
}  // namespace shardplan
