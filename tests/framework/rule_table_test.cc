// SPDX-License-Identifier: Apache-2.0
// The table of rules as a whole: what must hold for every row.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "planner/framework/rules.h"
#include "planner/plan/axes.h"
#include "tests/framework/toys.h"

namespace shardplan {
namespace {

TEST(CompareVersions, ComparesNumbersNotText) {
  EXPECT_LT(CompareVersions("0.9", "0.10"), 0);
  EXPECT_EQ(CompareVersions("0.10", "0.10.0"), 0);
  EXPECT_GT(CompareVersions("0.10.1", "0.10"), 0);
  EXPECT_GT(CompareVersions("main", "0.2"), 0);
  EXPECT_EQ(CompareVersions("main", "main"), 0);
  EXPECT_EQ(CompareVersions("0.20rc1", "0.20"), 0);
  EXPECT_LT(CompareVersions("", "0.1"), 0);
}

TEST(Frameworks, AreAllButColossalai) {
  std::set<std::string_view> names;
  for (const Framework& framework : Frameworks()) {
    EXPECT_TRUE(names.insert(framework.name).second) << framework.name;
    EXPECT_EQ(&FrameworkOf(framework.id), &framework);
    EXPECT_TRUE(std::is_sorted(framework.zero_stages.begin(), framework.zero_stages.end()));
    EXPECT_TRUE(std::count(framework.zero_stages.begin(), framework.zero_stages.end(),
                           framework.default_zero))
        << framework.name;
    EXPECT_FALSE(framework.newest_version.empty());
  }
  EXPECT_EQ(names.count("colossalai"), 0u);
  EXPECT_EQ(names.size(), 8u);
}

// A random question: most choices are small, some are odd.
struct Question {
  Model model;
  Machine machine;
  Training training;
  Plan plan;

  explicit Question(unsigned seed) {
    std::mt19937 engine(seed);
    const auto pick = [&](std::initializer_list<int> values) {
      return *(values.begin() +
               std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(engine));
    };
    model = toys::Dense(pick({1, 4, 12, 61}), pick({4, 6, 16}), pick({1, 2, 4}), pick({64, 24}));
    if (pick({0, 1})) {
      model = toys::WithExperts(model, pick({4, 8, 12}), pick({512, 100}));
      Block block;
      block.ops.push_back({.kind = OpKind::kGroupedGemm, .vectors = pick({0, 1}) ? 8.0 : 0.0});
      model.blocks.push_back(block);
    }
    model.facts.mla = pick({0, 0, 0, 1});
    model.facts.position_rows = pick({0, 0, 0, 2048});
    machine = toys::Hopper(pick({1, 2, 3}), pick({4, 8}));
    if (pick({0, 0, 1})) machine.gpu.fp8 = {};
    const auto id = Frameworks()[static_cast<std::size_t>(pick({0, 0, 0, 1, 2, 3, 4, 5, 6, 7}))].id;
    training = toys::With(id, pick({8, 48, 50, 256}), pick({0, 512, 1000, 4096}));
    if (pick({0, 1})) training.framework_version = pick({0, 1}) ? "0.1" : "main";
    training.precision = static_cast<Precision>(pick({0, 0, 0, 6, 7, 8}));
    training.optimizer = static_cast<Optimizer>(pick({0, 0, 7}));
    training.fp8_recipe = static_cast<Fp8Recipe>(pick({0, 1}));
    training.fp8_params = pick({0, 0, 1}) == 1;
    training.cuda_graphs = pick({0, 0, 1}) == 1;
    training.optimizer_in_backward = pick({0, 0, 1}) == 1;
    auto& [s, p, q] = plan;
    s = {.tp = pick({1, 1, 2, 3, 4}),
         .cp = pick({1, 1, 2, 4}),
         .ep = pick({1, 1, 2, 4, 5}),
         .etp = pick({1, 1, 2, 3}),
         .cp_kind = static_cast<CpKind>(pick({0, 1, 2})),
         .sp = pick({0, 1}) == 1,
         .micro_batch_size = pick({1, 1, 2, 3, 64})};
    s.recompute.kind = static_cast<RecomputeKind>(pick({0, 1, 2, 3, 4}));
    if (s.recompute.kind == RecomputeKind::kModules)
      s.recompute.modules = static_cast<std::uint32_t>(pick({1, 2, 4, 32, 127}));
    if (s.recompute.kind == RecomputeKind::kLayers) s.recompute.layers = {pick({1, 2, 99})};
    if (s.recompute.kind == RecomputeKind::kLayers && pick({0, 1})) s.recompute.layers.push_back(0);
    p = {.pp = pick({1, 1, 2, 4, 5}), .vpp = pick({1, 1, 2, 3, 9})};
    p.schedule = static_cast<Schedule>(pick({0, 1, 1, 2, 2, 3, 4, 5}));
    if (pick({0, 0, 1})) p.stage_layers = {pick({1, 2}), pick({0, 2})};
    p.dp = pick({0, 0, 1}) ? pick({1, 2, 4}) : std::max(1, machine.Gpus() / (s.tp * s.cp * p.pp));
    p.microbatches =
        std::max(1, static_cast<int>(training.global_batch_size) / (p.dp * s.micro_batch_size));
    q = {.zero_stage = pick({0, 1, 2, 3, 4}), .zero_group = pick({0, 0, 2, 3})};
    q.offload = static_cast<Offload>(pick({0, 1, 2, 3}));
    q.offload_to = static_cast<OffloadTo>(pick({0, 0, 1}));
    q.overlap = {pick({0, 1}) == 1, pick({0, 1}) == 1, pick({0, 1}) == 1, pick({0, 1}) == 1,
                 pick({0, 1}) == 1};
  }
  Proposal Ask() const {
    return {model,         machine,        training,   FrameworkOf(training.framework),
            plan.sharding, plan.placement, plan.policy};
  }
};

// A row that no plan breaks is dead; a message must read well for any plan that does.
TEST(Rules, AreEachBrokenBySomePlanAndSayWhatWorks) {
  std::set<const Rule*> broken;
  for (unsigned seed = 0; seed < 40'000; ++seed) {
    const Question question(seed);
    const Proposal proposal = question.Ask();
    for (const Rule* rule : RulesInForce(question.training)) {
      if (!rule->broken(proposal)) continue;
      broken.insert(rule);
      const std::string text = rule->text(proposal);
      ASSERT_GT(text.size(), 20u) << "seed " << seed << ' ' << rule->id;
      ASSERT_EQ(text.find("  "), std::string::npos) << "seed " << seed << ' ' << text;
      ASSERT_EQ(text.find('\n'), std::string::npos) << "seed " << seed << ' ' << text;
    }
  }
  for (const Rule& rule : Rules())
    EXPECT_TRUE(broken.count(&rule)) << rule.id << " of frameworks " << rule.frameworks << " (row "
                                     << &rule - Rules().data() << ')';
}

// The search asks `concerns` once a placement: it must never hide a rule that a policy breaks.
TEST(Rules, ConcernEveryPlacementThatAPolicyCanBreakThemOn) {
  for (unsigned seed = 0; seed < 40'000; ++seed) {
    const Question question(seed);
    const Proposal proposal = question.Ask();
    Policy open;
    open.overlap = question.plan.policy.overlap;
    const Proposal unbound{proposal.model,
                           proposal.machine,
                           proposal.training,
                           proposal.framework,
                           proposal.sharding,
                           proposal.placement,
                           open};
    for (const Rule* rule : RulesInForce(question.training))
      if (rule->concerns != nullptr && rule->broken(proposal)) {
        ASSERT_TRUE(rule->concerns(unbound)) << "seed " << seed << ' ' << rule->id;
      }
  }
}

// A rule of a binding looks at nothing that is bound later.
TEST(Rules, LookOnlyAtWhatTheirBindingHasBound) {
  for (unsigned seed = 0; seed < 40'000; seed += 2) {
    const Question question(seed), other(seed + 1);
    const Plan& plan = question.plan;
    Placement shape = plan.placement, blank;
    shape.dp = other.plan.placement.dp;
    shape.microbatches = other.plan.placement.microbatches;
    Policy state = plan.policy;
    state.overlap.tp = other.plan.policy.overlap.tp;
    state.overlap.p2p = other.plan.policy.overlap.p2p;
    state.overlap.moe = other.plan.policy.overlap.moe;
    const Proposal whole = question.Ask();
    const auto with = [&](const Sharding& s, const Placement& p, const Policy& q) {
      return Proposal{whole.model, whole.machine, whole.training, whole.framework, s, p, q};
    };
    for (const Rule* rule : RulesInForce(question.training)) {
      const Proposal changed = rule->binding == Binding::kSharding
                                   ? with(plan.sharding, other.plan.placement, other.plan.policy)
                               : rule->binding == Binding::kShape
                                   ? with(other.plan.sharding, shape, other.plan.policy)
                               : rule->binding == Binding::kPlacement
                                   ? with(plan.sharding, plan.placement, other.plan.policy)
                               : rule->binding == Binding::kState
                                   ? with(other.plan.sharding, other.plan.placement, state)
                                   : whole;
      ASSERT_EQ(rule->broken(whole), rule->broken(changed))
          << "seed " << seed << ' ' << rule->id << ' ' << Key(plan);
    }
  }
}
}  // namespace
}  // namespace shardplan
