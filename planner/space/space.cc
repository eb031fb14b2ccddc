// SPDX-License-Identifier: Apache-2.0
#include "planner/space/space.h"

#include <algorithm>
#include <limits>

#include "planner/base/check.h"
#include "planner/space/domain.h"

namespace shardplan {
namespace {
using Wide = std::int64_t;
constexpr int kMostPolicyRules = 32;

// What the spec says, else the domain.
template <class T>
std::vector<T> Or(const Wish<T>& wish, std::vector<T> domain) {
  return wish.empty() ? std::move(domain) : wish;
}
template <class T>
T FirstOr(const Wish<T>& wish, const T& otherwise) {
  return wish.empty() ? otherwise : wish.front();
}

int DataParallel(const Machine& machine, const Sharding& sharding, int pp) {
  return std::max(1, machine.Gpus() / sharding.tp / sharding.cp / pp);
}

int Microbatches(const Training& training, const Sharding& sharding, int dp) {
  const Wide pass = Wide{sharding.micro_batch_size} * dp;
  return static_cast<int>(
      std::clamp<Wide>(training.global_batch_size / pass, 1, std::numeric_limits<int>::max()));
}

bool KeepsState(Offload offload) {
  return offload == Offload::kOptimizer || offload == Offload::kOptimizerAndParams;
}

// What the spec fixes of overlap, over `overlap`.
Overlap Wished(const Wishes& wishes, Overlap overlap) {
  overlap.grad_reduce = wishes.overlap_grad_reduce.value_or(overlap.grad_reduce);
  overlap.param_gather = wishes.overlap_param_gather.value_or(overlap.param_gather);
  overlap.tp = wishes.overlap_tp.value_or(overlap.tp);
  overlap.p2p = wishes.overlap_p2p.value_or(overlap.p2p);
  overlap.moe = wishes.overlap_moe.value_or(overlap.moe);
  return overlap;
}
}  // namespace

Overlap OverlapOf(const Overlap& asked, const Sharding& sharding, const Placement& placement,
                  int zero_stage) {
  return {.grad_reduce = asked.grad_reduce,
          .param_gather = asked.param_gather && asked.grad_reduce && zero_stage >= 1,
          .tp = asked.tp && sharding.sp,
          .p2p = asked.p2p && placement.pp > 1 && placement.vpp > 1,
          .moe = asked.moe && sharding.ep > 1};
}

Space::Space(const Model& model, const Machine& machine, const Training& training,
             const Wishes& wishes)
    : model_(model),
      machine_(machine),
      training_(training),
      wishes_(wishes),
      framework_(FrameworkOf(training.framework)),
      default_overlap_(framework_.conventions(training, model).default_overlap),
      default_sp_(framework_.conventions(training, model).default_sp) {
  BindRules();
  BindShapes();
  BindStates();
  BindShardings();
}

Proposal Space::ProposalOf(const Sharding& sharding, const Placement& placement,
                           const Policy& policy) const {
  return {model_, machine_, training_, framework_, sharding, placement, policy};
}

const Rule& Space::RuleAt(int i) const { return *rules_[static_cast<std::size_t>(i)]; }

int Space::FirstBroken(Binding binding, const Proposal& proposal) const {
  const auto& [begin, end] = rules_of_[static_cast<std::size_t>(binding)];
  for (int i = begin; i < end; ++i)
    if (RuleAt(i).broken(proposal)) return i;
  return kLegal;
}

void Space::BindRules() {
  rules_ = RulesInForce(training_);
  for (int binding = 0, i = 0; binding < kBindings; ++binding) {
    const int begin = i;
    while (i < static_cast<int>(rules_.size()) && static_cast<int>(RuleAt(i).binding) == binding)
      ++i;
    rules_of_[static_cast<std::size_t>(binding)] = {begin, i};
  }
  const auto& [begin, end] = rules_of_[static_cast<std::size_t>(Binding::kPolicy)];
  SHARDPLAN_CHECK(end - begin <= kMostPolicyRules);
}

void Space::BindShapes() {
  const std::vector<std::vector<int>> as_the_framework_splits = {{}};
  const Sharding sharding;
  const Policy policy;
  for (const int pp : Or(wishes_.pp, PipelineDegrees(model_, machine_, framework_)))
    for (const int vpp : Or(wishes_.vpp, VirtualDegrees(model_, framework_, pp)))
      for (const Schedule schedule : Or(wishes_.schedule, SchedulesOf(framework_, pp, vpp)))
        for (const auto& layers : Or(wishes_.stage_layers, as_the_framework_splits)) {
          Placement shape{.pp = pp, .vpp = vpp, .schedule = schedule, .stage_layers = layers};
          const int broken = FirstBroken(Binding::kShape, ProposalOf(sharding, shape, policy));
          shapes_.push_back({std::move(shape), broken});
        }
}

void Space::BindStates() {
  std::vector<Offload> offloads = {Offload::kNone, Offload::kOptimizer,
                                   Offload::kOptimizerAndParams};
  if (framework_.offload_activations) offloads.push_back(Offload::kActivations);
  const Sharding sharding;
  const Placement placement;
  const auto add = [&](const Policy& policy, bool node_group) {
    const int broken = FirstBroken(Binding::kState, ProposalOf(sharding, placement, policy));
    states_.push_back({policy, node_group, broken});
    ++(node_group ? node_states_ : plain_states_);
  };
  for (const int zero_stage : Or(wishes_.zero_stage, framework_.zero_stages))
    for (const Offload offload : Or(wishes_.offload, offloads))
      for (const OffloadTo to : Or(wishes_.offload_to, {OffloadTo::kCpu})) {
        Policy policy{.zero_stage = zero_stage, .offload = offload, .offload_to = to};
        policy.overlap = Wished(wishes_, OverlapOf(default_overlap_, {}, {}, zero_stage));
        for (const int group : Or(wishes_.zero_group, {0})) {
          policy.zero_group = group;
          add(policy, false);
        }
        if (wishes_.zero_group.empty() && zero_stage > 0) add(policy, true);
        if (!KeepsState(offload)) break;
      }
}

void Space::BindShardings() {
  const bool experts = model_.facts.experts > 0;
  rejected_shardings_.assign(rules_.size(), 0);
  Sharding s;
  const auto offer = [&](double below) {
    covered_ += below;
    const int broken = FirstBroken(Binding::kSharding, ProposalOf(s, {}, {}));
    if (broken == kLegal)
      shardings_.push_back(s);
    else
      rejected_shardings_[static_cast<std::size_t>(broken)] += below;
  };
  const std::vector<Recompute> recomputes = {{.kind = RecomputeKind::kNone},
                                             {.kind = RecomputeKind::kSelective},
                                             {.kind = RecomputeKind::kFull}};
  const std::vector<int> micro_batch_sizes = MicroBatchSizes(training_);
  for (const int tp : Or(wishes_.tp, TensorDegrees(model_, machine_)))
    for (const int cp : Or(wishes_.cp, ContextDegrees(training_)))
      for (const int ep : Or(wishes_.ep, ExpertDegrees(model_, machine_))) {
        s.tp = tp, s.cp = cp, s.ep = ep;
        const double below = CountBelow(s);
        const std::vector<int> etps =
            experts && tp > 1 ? std::vector<int>{1, tp} : std::vector<int>{1};
        for (const CpKind kind : CpKinds(tp, cp))
          for (const int etp : Or(wishes_.etp, etps))
            for (const bool sp : Or(wishes_.sp, {default_sp_ && tp > 1}))
              for (const int size : Or(wishes_.micro_batch_size, micro_batch_sizes))
                for (const Recompute& recompute : Or(wishes_.recompute, recomputes)) {
                  s.cp_kind = kind, s.etp = etp, s.sp = sp, s.micro_batch_size = size;
                  s.recompute = recompute;
                  offer(below);
                }
      }
}

std::vector<CpKind> Space::CpKinds(int tp, int cp) const {
  if (cp == 1) return {FirstOr(wishes_.cp_kind, CpKind::kRing)};
  std::vector<CpKind> kinds = {CpKind::kRing};
  if (UlyssesFits(model_, framework_, tp, cp)) kinds.push_back(CpKind::kUlysses);
  return Or(wishes_.cp_kind, kinds);
}

bool Space::Holds(const Placement& shape, const Sharding& sharding) const {
  const Wide cut = Wide{sharding.tp} * sharding.cp, gpus = machine_.Gpus();
  if (wishes_.pp.empty() && shape.pp > 1 && (gpus % cut != 0 || gpus / cut % shape.pp != 0))
    return false;
  return !wishes_.ep.empty() || sharding.ep == 1 || Wide{sharding.ep} * shape.pp <= gpus;
}

int Space::NodeGroup(const Sharding& sharding, int dp) const {
  if (machine_.gpus_per_node % sharding.tp != 0) return 0;
  const int group = machine_.gpus_per_node / sharding.tp;
  return group > 1 && group < Wide{dp} * sharding.cp ? group : 0;
}

double Space::CountStates(const Sharding& sharding, int dp) const {
  return plain_states_ + (NodeGroup(sharding, dp) > 0 ? node_states_ : 0);
}

// visit(shape, dp) for each point of the domain, legal or not.
template <class Visit>
void Space::ForEachShape(const Sharding& sharding, const Visit& visit) const {
  for (const Shape& shape : shapes_) {
    if (!Holds(shape.placement, sharding)) continue;
    if (wishes_.dp.empty())
      visit(shape, DataParallel(machine_, sharding, shape.placement.pp));
    else
      for (const int dp : wishes_.dp) visit(shape, dp);
  }
}

double Space::CountBelow(const Sharding& sharding) const {
  double count = 0;
  ForEachShape(sharding, [&](const Shape&, int dp) { count += CountStates(sharding, dp); });
  return count;
}

// visit(placement, broken) for each point of the domain. REQUIRES: the sharding is legal.
template <class Visit>
void Space::ForEachPlacement(const Sharding& sharding, const Visit& visit) const {
  const Policy policy;
  Placement placement;
  ForEachShape(sharding, [&](const Shape& shape, int dp) {
    placement = shape.placement;
    placement.dp = dp;
    placement.microbatches = Microbatches(training_, sharding, dp);
    visit(placement, shape.broken != kLegal ? shape.broken
                                            : FirstBroken(Binding::kPlacement,
                                                          ProposalOf(sharding, placement, policy)));
  });
}

// visit(policy, broken) for each point of the domain. REQUIRES: sharding and placement are legal.
template <class Visit>
void Space::ForEachPolicy(const Sharding& sharding, const Placement& placement,
                          const Visit& visit) const {
  const int node_group = NodeGroup(sharding, placement.dp);
  Policy policy;
  policy.overlap = Wished(wishes_, OverlapOf(default_overlap_, sharding, placement, 0));
  const Overlap overlap = policy.overlap;
  const Proposal proposal = ProposalOf(sharding, placement, policy);
  // Most rules on policies concern few placements: ask each once.
  const auto& [begin, end] = rules_of_[static_cast<std::size_t>(Binding::kPolicy)];
  std::array<int, kMostPolicyRules> concerned;
  std::size_t count = 0;
  for (int i = begin; i < end; ++i)
    if (RuleAt(i).concerns == nullptr || RuleAt(i).concerns(proposal)) concerned[count++] = i;
  const auto first_broken = [&] {
    for (std::size_t i = 0; i < count; ++i)
      if (RuleAt(concerned[i]).broken(proposal)) return concerned[i];
    return kLegal;
  };
  for (const State& state : states_) {
    if (state.node_group && node_group == 0) continue;
    policy = state.policy;
    if (state.node_group) policy.zero_group = node_group;
    policy.overlap.tp = overlap.tp;
    policy.overlap.p2p = overlap.p2p;
    policy.overlap.moe = overlap.moe;
    visit(std::as_const(policy), state.broken != kLegal ? state.broken : first_broken());
  }
}

std::vector<Placement> Space::Placements(const Sharding& sharding) const {
  std::vector<Placement> placements;
  ForEachPlacement(sharding, [&](const Placement& placement, int broken) {
    if (broken == kLegal) placements.push_back(placement);
  });
  return placements;
}

std::vector<Policy> Space::Policies(const Sharding& sharding, const Placement& placement) const {
  std::vector<Policy> policies;
  policies.reserve(states_.size());
  ForEachPolicy(sharding, placement, [&](const Policy& policy, int broken) {
    if (broken == kLegal) policies.push_back(policy);
  });
  return policies;
}

void Space::CountRejected(const Sharding& sharding, Counts& counts) const {
  ForEachPlacement(sharding, [&](const Placement& placement, int broken) {
    if (broken != kLegal) {
      counts[static_cast<std::size_t>(broken)] += CountStates(sharding, placement.dp);
      return;
    }
    ForEachPolicy(sharding, placement, [&](const Policy&, int broken_by_policy) {
      if (broken_by_policy != kLegal) ++counts[static_cast<std::size_t>(broken_by_policy)];
    });
  });
}

const std::map<std::string, double>& Space::Rejected() const {
  std::call_once(counted_, [this] {
    Counts counts = rejected_shardings_;
    for (const Sharding& sharding : shardings_) CountRejected(sharding, counts);
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i] > 0) rejected_[rules_[i]->id] += counts[i];
  });
  return rejected_;
}

Plan FixedPlan(const Model& model, const Machine& machine, const Training& training,
               const Wishes& wishes) {
  const Framework& framework = FrameworkOf(training.framework);
  Plan plan;
  auto& [s, p, q] = plan;
  s.tp = FirstOr(wishes.tp, 1);
  s.cp = FirstOr(wishes.cp, 1);
  s.ep = FirstOr(wishes.ep, 1);
  s.cp_kind =
      FirstOr(wishes.cp_kind, s.cp > 1 && !framework.ring ? CpKind::kUlysses : CpKind::kRing);
  const Conventions conventions = framework.conventions(training, model);
  s.sp = FirstOr<bool>(wishes.sp, conventions.default_sp && s.tp > 1);
  s.micro_batch_size = FirstOr(wishes.micro_batch_size, 1);
  s.recompute = FirstOr(wishes.recompute, {});

  p.pp = FirstOr(wishes.pp, 1);
  const bool two_chunks =
      !wishes.schedule.empty() &&
      (wishes.schedule.front() == Schedule::kZbV || wishes.schedule.front() == Schedule::kDualPipe);
  p.vpp = FirstOr(wishes.vpp, two_chunks ? 2 : 1);
  p.schedule = FirstOr(wishes.schedule, p.vpp > 1 ? Schedule::kInterleaved : Schedule::k1F1B);
  p.stage_layers = FirstOr(wishes.stage_layers, {});
  p.dp = FirstOr(wishes.dp, DataParallel(machine, s, p.pp));
  p.microbatches = Microbatches(training, s, p.dp);
  s.etp = FirstOr(wishes.etp, DefaultEtp(model, machine, training, framework, s.tp, s.ep, p.pp));

  q.zero_stage = FirstOr(wishes.zero_stage, framework.default_zero);
  q.zero_group = FirstOr(wishes.zero_group, 0);
  q.offload = FirstOr(wishes.offload, Offload::kNone);
  q.offload_to = FirstOr(wishes.offload_to, OffloadTo::kCpu);
  q.overlap = Wished(wishes, OverlapOf(conventions.default_overlap, s, p, q.zero_stage));
  return plan;
}
}  // namespace shardplan
