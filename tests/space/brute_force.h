// SPDX-License-Identifier: Apache-2.0
// Contract section 2 written out a second time: all points of a spec's domain by plain loops, with
// no pruning and no help from planner/space. Slow; for small specs.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/framework/framework.h"
#include "planner/framework/rules.h"
#include "planner/space/space.h"

namespace shardplan::brute {

struct Spec {
  Model model;
  Machine machine;
  Training training;
  Wishes wishes;
};

// `wish` where the spec has one, else the numbers of 1..limit that pass.
template <class Passes>
std::vector<int> Numbers(const Wish<int>& wish, int limit, const Passes& passes) {
  if (!wish.empty()) return wish;
  std::vector<int> numbers;
  for (int n = 1; n <= limit; ++n)
    if (passes(n)) numbers.push_back(n);
  return numbers;
}
template <class T>
std::vector<T> Values(const Wish<T>& wish, std::vector<T> otherwise) {
  return wish.empty() ? otherwise : wish;
}
inline bool IsPowerOf2(int n) { return (n & (n - 1)) == 0; }

inline Overlap OverlapOfPlan(const Spec& spec, const Framework& framework, const Plan& plan) {
  Overlap o = framework.conventions(spec.training, spec.model).default_overlap;
  if (plan.policy.zero_stage == 0 || !o.grad_reduce) o.param_gather = false;
  if (!plan.sharding.sp) o.tp = false;
  if (plan.placement.pp == 1 || plan.placement.vpp == 1) o.p2p = false;
  if (plan.sharding.ep == 1) o.moe = false;
  const Wishes& w = spec.wishes;
  if (w.overlap_grad_reduce) o.grad_reduce = *w.overlap_grad_reduce;
  if (w.overlap_param_gather) o.param_gather = *w.overlap_param_gather;
  if (w.overlap_tp) o.tp = *w.overlap_tp;
  if (w.overlap_p2p) o.p2p = *w.overlap_p2p;
  if (w.overlap_moe) o.moe = *w.overlap_moe;
  return o;
}

// visit(plan) for every point, legal or not, each once.
template <class Visit>
void ForEachPoint(const Spec& spec, const Visit& visit) {
  const Framework& f = FrameworkOf(spec.training.framework);
  const Wishes& w = spec.wishes;
  const Model& model = spec.model;
  const Machine& machine = spec.machine;
  const Training& training = spec.training;
  const int gpus = machine.Gpus(), heads = model.facts.heads, experts = model.facts.experts,
            layers = model.facts.layers, domain = machine.scale_up_domain;
  const auto splits = [&](int pp, int vpp) { return !f.split(model, pp, vpp).empty(); };

  std::vector<Plan> plans;  // grown one axis at a time
  const auto grow = [&plans](const auto& candidates, const auto& set) {
    std::vector<Plan> grown;
    for (const Plan& plan : plans)
      for (const auto& value : candidates(plan)) {
        grown.push_back(plan);
        set(grown.back(), value);
      }
    plans = std::move(grown);
  };

  const int most_tp = machine.gpus_per_node < domain ? 2 * domain : domain;
  for (const int tp : Numbers(w.tp, most_tp, [&](int n) { return heads % n == 0; }))
    for (const int cp : Numbers(w.cp, 64, [&](int n) {
           return n == 1 || (IsPowerOf2(n) && training.seq_length / n >= 4096);
         }))
      for (const int pp : Numbers(w.pp, std::min(layers, gpus), [&](int n) {
             return n == 1 || (gpus % (tp * cp) == 0 && gpus / tp / cp % n == 0 && splits(n, 1));
           })) {
        Plan plan;
        plan.sharding.tp = tp;
        plan.sharding.cp = cp;
        plan.placement.pp = pp;
        plans.push_back(plan);
      }
  grow(
      [&](const Plan& p) {
        return Numbers(w.ep, std::max(1, gpus / p.placement.pp),
                       [&](int n) { return n == 1 || (experts > 0 && experts % n == 0); });
      },
      [](Plan& p, int ep) { p.sharding.ep = ep; });
  grow(
      [&](const Plan& p) {
        const int tp = p.sharding.tp;
        return Numbers(w.etp, tp, [&](int n) { return n == 1 || (n == tp && experts > 0); });
      },
      [](Plan& p, int etp) { p.sharding.etp = etp; });
  grow([&](const Plan& p) { return Values<bool>(w.sp, {f.conventions(spec.training, spec.model).default_sp && p.sharding.tp > 1}); },
       [](Plan& p, bool sp) { p.sharding.sp = sp; });
  grow(
      [&](const Plan& p) {
        std::vector<CpKind> kinds = Values(w.cp_kind, {CpKind::kRing});
        if (p.sharding.cp == 1) return std::vector<CpKind>{kinds.front()};
        if (w.cp_kind.empty() && UlyssesFits(model, f, p.sharding.tp, p.sharding.cp))
          kinds.push_back(CpKind::kUlysses);
        return kinds;
      },
      [](Plan& p, CpKind kind) { p.sharding.cp_kind = kind; });
  grow(
      [&](const Plan&) {
        return Numbers(w.micro_batch_size, 64,
                       [&](int n) { return IsPowerOf2(n) && training.global_batch_size % n == 0; });
      },
      [](Plan& p, int size) { p.sharding.micro_batch_size = size; });
  grow(
      [&](const Plan&) {
        return Values<Recompute>(w.recompute, {{RecomputeKind::kNone, 0, {}},
                                               {RecomputeKind::kSelective, 0, {}},
                                               {RecomputeKind::kFull, 0, {}}});
      },
      [](Plan& p, const Recompute& recompute) { p.sharding.recompute = recompute; });

  grow(
      [&](const Plan& p) {
        return Numbers(w.vpp, p.placement.pp > 1 ? 16 : 1,
                       [&](int n) { return n == 1 || splits(p.placement.pp, n); });
      },
      [](Plan& p, int vpp) { p.placement.vpp = vpp; });
  grow(
      [&](const Plan& p) {
        std::vector<Schedule> schedules = {p.placement.vpp > 1 ? Schedule::kInterleaved
                                                               : Schedule::k1F1B};
        if (f.zero_bubble && p.placement.pp > 1 && p.placement.vpp == 1)
          schedules.push_back(Schedule::kZbH1);
        return Values(w.schedule, schedules);
      },
      [](Plan& p, Schedule schedule) { p.placement.schedule = schedule; });
  grow([&](const Plan&) { return Values<std::vector<int>>(w.stage_layers, {{}}); },
       [](Plan& p, const std::vector<int>& split) { p.placement.stage_layers = split; });
  grow(
      [&](const Plan& p) {
        return Values<int>(w.dp,
                           {std::max(1, gpus / (p.sharding.tp * p.sharding.cp * p.placement.pp))});
      },
      [&](Plan& p, int dp) {
        p.placement.dp = dp;
        p.placement.microbatches = std::max(
            1, static_cast<int>(training.global_batch_size / dp / p.sharding.micro_batch_size));
      });

  grow([&](const Plan&) { return Values(w.zero_stage, f.zero_stages); },
       [](Plan& p, int stage) { p.policy.zero_stage = stage; });
  grow(
      [&](const Plan& p) {
        std::vector<int> groups = {0};
        const int tp = p.sharding.tp, ranks = p.placement.dp * p.sharding.cp;
        const int node = machine.gpus_per_node % tp == 0 ? machine.gpus_per_node / tp : 0;
        if (p.policy.zero_stage > 0 && node > 1 && node < ranks) groups.push_back(node);
        return Values(w.zero_group, groups);
      },
      [](Plan& p, int group) { p.policy.zero_group = group; });
  grow(
      [&](const Plan&) {
        std::vector<Offload> offloads = {Offload::kNone, Offload::kOptimizer,
                                         Offload::kOptimizerAndParams};
        if (f.offload_activations) offloads.push_back(Offload::kActivations);
        return Values(w.offload, offloads);
      },
      [](Plan& p, Offload offload) { p.policy.offload = offload; });
  grow(
      [&](const Plan& p) {
        std::vector<OffloadTo> places = Values(w.offload_to, {OffloadTo::kCpu});
        if (p.policy.offload == Offload::kNone || p.policy.offload == Offload::kActivations)
          places.resize(1);
        return places;
      },
      [](Plan& p, OffloadTo to) { p.policy.offload_to = to; });
  for (Plan& plan : plans) {
    plan.policy.overlap = OverlapOfPlan(spec, f, plan);
    visit(plan);
  }
}
}  // namespace shardplan::brute
