// SPDX-License-Identifier: Apache-2.0
// Perft: the space against a second, plain enumeration of the whole product.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "planner/plan/axes.h"
#include "planner/space/space.h"
#include "tests/framework/toys.h"
#include "tests/space/brute_force.h"

namespace shardplan {
namespace {
using brute::Spec;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int Of(std::initializer_list<int> values) {
    return *(values.begin() +
             std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(engine_));
  }
  bool OneIn(int n) { return std::uniform_int_distribution<int>(1, n)(engine_) == 1; }
  // Usually nothing; else one or two of the values.
  Wish<int> Wish1or2(std::initializer_list<int> values) {
    if (!OneIn(9)) return {};
    Wish<int> wish = {Of(values)};
    if (const int second = Of(values); OneIn(2) && second != wish[0]) wish.push_back(second);
    return wish;
  }

 private:
  std::mt19937 engine_;
};

Spec RandomSpec(unsigned seed) {
  Random r(seed);
  Spec spec;
  spec.model = toys::Dense(r.Of({2, 3, 4, 6, 8}), r.Of({2, 4, 6, 8}), r.Of({1, 2, 4}), 32);
  if (r.OneIn(3)) spec.model = toys::WithExperts(spec.model, r.Of({4, 6, 8}), r.Of({256, 96}));
  spec.model.facts.mla = r.OneIn(6);
  spec.model.facts.mtp_layers = r.OneIn(4) ? 1 : 0;
  spec.machine = toys::Hopper(r.Of({1, 2, 3}), r.Of({2, 4, 8}));
  if (r.OneIn(3)) spec.machine.scale_up_domain = 2 * spec.machine.gpus_per_node;
  const auto& frameworks = Frameworks();
  spec.training = toys::With(frameworks[seed % frameworks.size()].id, r.Of({4, 6, 16, 24}),
                             r.Of({0, 1024, 8192, 16384}));
  if (r.OneIn(4)) spec.training.framework_version = r.OneIn(2) ? "0.1" : "main";
  if (r.OneIn(6)) spec.training.precision = Precision::kFp8;
  if (r.OneIn(6)) spec.training.optimizer = Optimizer::kMuon;

  Wishes& w = spec.wishes;
  w.tp = r.Wish1or2({1, 2, 3, 4});
  w.pp = r.Wish1or2({1, 2, 3, 4, 8});
  w.vpp = r.Wish1or2({1, 2, 3});
  w.cp = r.Wish1or2({1, 2, 3});
  w.ep = r.Wish1or2({1, 2, 3, 4});
  w.etp = r.Wish1or2({1, 2});
  w.dp = r.Wish1or2({1, 2, 4, 8});
  w.zero_stage = r.Wish1or2({0, 1, 2, 3, 4});
  w.zero_group = r.Wish1or2({0, 2, 3});
  w.micro_batch_size = r.Wish1or2({1, 2, 3});
  if (r.OneIn(4)) w.sp = r.OneIn(2) ? Wish<bool>{true, false} : Wish<bool>{r.OneIn(2)};
  if (r.OneIn(5)) w.cp_kind = {CpKind::kUlysses, CpKind::kAllGather};
  if (r.OneIn(5)) w.schedule = {Schedule::k1F1B, Schedule::kGpipe, Schedule::kZbV};
  if (r.OneIn(5)) {
    w.recompute = {{.kind = RecomputeKind::kModules, .modules = 0b100110},
                   {.kind = RecomputeKind::kLayers, .layers = {2}},
                   {.kind = RecomputeKind::kLayers, .layers = {1, 1}}};
  }
  if (r.OneIn(6)) w.offload = {Offload::kOptimizer, Offload::kActivations};
  if (r.OneIn(6)) w.offload_to = {OffloadTo::kNvme, OffloadTo::kCpu};
  if (r.OneIn(8)) w.stage_layers = {{1, 1}, {2, 2}, {1, 2, 2, 1}};
  if (r.OneIn(6)) w.overlap_moe = true;
  if (r.OneIn(6)) w.overlap_tp = true;
  if (r.OneIn(6)) w.overlap_p2p = false;
  if (r.OneIn(6)) w.overlap_grad_reduce = false;
  if (r.OneIn(6)) w.overlap_param_gather = true;
  return spec;
}

struct Enumerated {
  std::vector<std::string> plans;  // keys of the legal ones
  double covered = 0;
  std::map<std::string, double> broken;  // points that break a rule, by its id
};

Enumerated ByBruteForce(const Spec& spec) {
  Enumerated all;
  brute::ForEachPoint(spec, [&](const Plan& plan) {
    ++all.covered;
    std::set<std::string> ids;
    for (const Reason& reason : BrokenRules(spec.model, spec.machine, spec.training, plan))
      ids.insert(reason.rule);
    if (ids.empty()) all.plans.push_back(Key(plan));
    for (const std::string& id : ids) ++all.broken[id];
  });
  std::sort(all.plans.begin(), all.plans.end());
  return all;
}

std::vector<std::string> BySpace(const Space& space) {
  std::vector<std::string> plans;
  for (const Sharding& sharding : space.Shardings())
    for (const Placement& placement : space.Placements(sharding))
      for (const Policy& policy : space.Policies(sharding, placement))
        plans.push_back(Key({sharding, placement, policy}));
  std::sort(plans.begin(), plans.end());
  return plans;
}

constexpr unsigned kSpecs = 160;

// Every plan of the space is legal, and every legal point of the product is in the space, once.
TEST(Perft, AgreesWithThePlainProduct) {
  double legal = 0, covered = 0;
  int with_plans = 0;
  for (unsigned seed = 0; seed < kSpecs; ++seed) {
    const Spec spec = RandomSpec(seed);
    const Enumerated all = ByBruteForce(spec);
    const Space space(spec.model, spec.machine, spec.training, spec.wishes);
    ASSERT_EQ(space.Covered(), all.covered) << "seed " << seed;
    ASSERT_EQ(BySpace(space), all.plans) << "seed " << seed;
    ASSERT_EQ(std::adjacent_find(all.plans.begin(), all.plans.end()), all.plans.end())
        << "seed " << seed;
    double rejected = 0;
    for (const auto& [id, count] : space.Rejected()) {
      rejected += count;
      const auto broken = all.broken.find(id);
      ASSERT_TRUE(broken != all.broken.end()) << "seed " << seed << ' ' << id;
      ASSERT_LE(count, broken->second) << "seed " << seed << ' ' << id;
    }
    ASSERT_EQ(rejected + static_cast<double>(all.plans.size()), all.covered) << "seed " << seed;
    legal += static_cast<double>(all.plans.size());
    covered += all.covered;
    with_plans += !all.plans.empty();
  }
  // The specs are worth something: many have plans, many points are illegal.
  EXPECT_GT(with_plans, static_cast<int>(kSpecs) / 3);
  RecordProperty("covered", static_cast<int>(covered));
  RecordProperty("legal", static_cast<int>(legal));
}
}  // namespace
}  // namespace shardplan
