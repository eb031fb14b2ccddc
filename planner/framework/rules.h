// SPDX-License-Identifier: Apache-2.0
// Start-up rules: what a framework refuses, and which values it would take instead.
//
// One table of rows {id, frameworks, versions, what it needs, predicate, message}. Ids M*, D*, T*,
// A* are those of the frameworks' own asserts, N* nanotron's,
// G* hold for several. Rules prune the search and explain why not; they judge no cost. A rule is a
// pure function of values, so that the search can ask as soon as what it needs is bound.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/framework/framework.h"
#include "planner/machine/machine.h"
#include "planner/model/graph.h"
#include "planner/plan/plan.h"

namespace shardplan {

// One rule that a plan breaks: what was asked, why it is refused, which values work.
struct Reason {
  std::string rule;
  std::string text;
};

// A plan as far as it is bound, and what it is for. What is not bound yet has its defaults.
struct Proposal {
  const Model& model;
  const Machine& machine;
  const Training& training;
  const Framework& framework;
  const Sharding& sharding;
  const Placement& placement;
  const Policy& policy;
};

// What a rule looks at besides model, machine and training, in the order in which a search binds
// it.
enum class Binding : std::uint8_t {
  kSharding,   // the sharding
  kShape,      // pp, vpp, schedule and stage_layers, without the sharding
  kPlacement,  // the sharding and the whole placement
  kState,      // the policy alone, except overlap.tp, .p2p and .moe
  kPolicy,     // everything
};
inline constexpr int kBindings = 5;

using FrameworkSet = std::uint16_t;
constexpr FrameworkSet SetOf(FrameworkId id) {
  return static_cast<FrameworkSet>(1u << static_cast<unsigned>(id));
}

struct Rule {
  const char* id;
  FrameworkSet frameworks;
  Binding binding;
  bool (*broken)(const Proposal& proposal);
  std::string (*text)(const Proposal& proposal);  // REQUIRES: broken(proposal).
  const char* since = nullptr;  // first framework version that has the rule; null: all
  const char* until = nullptr;  // first that has it no more; null: none
  // For kPolicy: false where no policy breaks the rule, so that a search asks once a placement and
  // not for each policy. Of the policy only overlap.tp, .p2p and .moe are bound. Null: always true.
  bool (*concerns)(const Proposal& proposal) = nullptr;
};

// The whole table. Where a plan breaks several rules, the first of a binding is charged.
const std::vector<Rule>& Rules();
// Those in force for a framework and version, by binding, then in the order of the table.
std::vector<const Rule*> RulesInForce(const Training& training);
// -1, 0 or 1: version `a` is older than, the same as or newer than `b`. "main" is newer than all.
int CompareVersions(std::string_view a, std::string_view b);

// Every rule that the plan breaks; empty: legal.
std::vector<Reason> BrokenRules(const Model& model, const Machine& machine,
                                const Training& training, const Plan& plan);

// Whether Ulysses can cut the heads that a tensor rank has over `cp` ranks.
bool UlyssesFits(const Model& model, const Framework& framework, int tp, int cp);
}  // namespace shardplan
