// SPDX-License-Identifier: Apache-2.0
#include "planner/plan/axes.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace shardplan {
namespace {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int Below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(engine_); }
  bool Coin() { return Below(2) == 1; }

 private:
  std::mt19937 engine_;
};

std::vector<int> SomeLayers(Random& random) {
  std::vector<int> layers;
  for (int i = random.Below(4); i >= 0; --i) layers.push_back(random.Below(20));
  return layers;
}

Plan RandomPlan(Random& random) {
  Plan plan;
  auto& [s, p, q] = plan;
  for (int* degree :
       {&s.tp, &s.cp, &s.ep, &s.etp, &s.micro_batch_size, &p.pp, &p.vpp, &p.dp, &p.microbatches})
    *degree = 1 + random.Below(3);
  s.cp_kind = static_cast<CpKind>(random.Below(3));
  s.sp = random.Coin();
  s.recompute.kind = static_cast<RecomputeKind>(random.Below(5));
  if (s.recompute.kind == RecomputeKind::kModules)
    s.recompute.modules = static_cast<std::uint32_t>(1 + random.Below(127));
  if (s.recompute.kind == RecomputeKind::kLayers) s.recompute.layers = SomeLayers(random);
  p.schedule = static_cast<Schedule>(random.Below(6));
  if (random.Coin()) p.stage_layers = SomeLayers(random);
  q.zero_stage = random.Below(4);
  q.zero_group = random.Below(3);
  q.offload = static_cast<Offload>(random.Below(4));
  q.offload_to = static_cast<OffloadTo>(random.Below(2));
  q.overlap = {random.Coin(), random.Coin(), random.Coin(), random.Coin(), random.Coin()};
  return plan;
}

TEST(PlanJson, ReadsBackAsTheSamePlan) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const Plan plan = RandomPlan(random);
    const auto json = nlohmann::ordered_json::parse(PlanJson(plan).dump());
    const Result<Plan> back = PlanFromJson(json);
    ASSERT_TRUE(back.has_value()) << "seed " << seed << ": " << back.error().message;
    ASSERT_EQ(*back, plan) << "seed " << seed << ": " << json;
  }
}

TEST(PlanJson, HasTheContractsKeysInItsOrder) {
  Plan plan;
  plan.sharding = {
      .tp = 8, .sp = true, .micro_batch_size = 2, .recompute = {.kind = RecomputeKind::kSelective}};
  plan.placement = {.pp = 4,
                    .vpp = 2,
                    .dp = 4,
                    .schedule = Schedule::kInterleaved,
                    .stage_layers = {19, 21, 21, 19},
                    .microbatches = 128};
  plan.policy = {.zero_stage = 1, .overlap = {.grad_reduce = true, .param_gather = true}};
  EXPECT_EQ(PlanJson(plan).dump(),
            R"({"tp":8,"pp":4,"vpp":2,"cp":1,"cp_kind":"ring","ep":1,"etp":1,"dp":4,"sp":true,)"
            R"("zero_stage":1,"zero_group":0,"micro_batch_size":2,"microbatches":128,)"
            R"("schedule":"interleaved","stage_layers":[19,21,21,19],"recompute":"selective",)"
            R"("offload":"none","overlap":{"grad_reduce":true,"param_gather":true,"tp":false,)"
            R"("p2p":false,"moe":false}})");
}

TEST(PlanJson, LeavesOutStageLayersThatAreNotSet) {
  EXPECT_FALSE(PlanJson({}).contains("stage_layers"));
  EXPECT_FALSE(PlanJson({}).contains("offload_to"));
}

TEST(PlanFromJson, SaysWhatItExpected) {
  const auto error = [](const char* json) {
    const Result<Plan> plan = PlanFromJson(nlohmann::ordered_json::parse(json));
    return plan ? std::string("a plan") : plan.error().message;
  };
  EXPECT_EQ(error(R"([1])"), "plan: expected a mapping");
  EXPECT_EQ(error(R"({"tp": 0})"), "plan.tp: expected an integer >= 1, found 0");
  EXPECT_EQ(error(R"({"tp": 2.5})"), "plan.tp: expected an integer >= 1, found 2.5");
  EXPECT_EQ(error(R"({"tp": 3000000000})"), "plan.tp: expected an integer >= 1, found 3000000000");
  EXPECT_EQ(error(R"({"zero_group": -1})"), "plan.zero_group: expected an integer >= 0, found -1");
  EXPECT_EQ(error(R"({"schedule": "1f2b"})"),
            "plan.schedule: expected gpipe, 1f1b, interleaved, zb-h1, zb-v or dualpipe, found "
            "\"1f2b\"");
  EXPECT_EQ(
      error(R"({"recompute": {"modules": ["attention"]}})"),
      "plan.recompute: expected none, selective, full, {modules: [...]} or {layers: N}, found "
      "{\"modules\":[\"attention\"]}");
  EXPECT_EQ(error(R"({"tpp": 2})"),
            "plan.tpp: no such key; a plan has tp, pp, vpp, cp, cp_kind, ep, etp, dp, sp, "
            "zero_stage, zero_group, micro_batch_size, microbatches, schedule, stage_layers, "
            "recompute, offload, offload_to, overlap");
}

TEST(Recompute, HasTheContractsForms) {
  const auto text = [](const char* json) {
    const auto recompute = RecomputeFromJson(nlohmann::ordered_json::parse(json));
    return recompute ? Text(*recompute) + " " + RecomputeJson(*recompute).dump() : "none such";
  };
  EXPECT_EQ(text(R"("full")"), R"(full "full")");
  EXPECT_EQ(text(R"({"modules": ["mlp", "core_attn"]})"),
            R"(core_attn+mlp {"modules":["core_attn","mlp"]})");
  EXPECT_EQ(text(R"({"layers": 16})"), R"(16 layers {"layers":16})");
  EXPECT_EQ(text(R"({"layers": [4, 0]})"), R"(4,0 layers {"layers":[4,0]})");
  for (const char* wrong :
       {R"("modules")", R"("layers")", R"({"modules": []})", R"({"layers": -1})",
        R"({"layers": []})", R"({"a": 1})", "3", R"({"layers": 1, "modules": ["mlp"]})"})
    EXPECT_EQ(text(wrong), "none such") << wrong;
}

// People write modules as papers do.
TEST(Recompute, KnowsModulesByOtherNames) {
  EXPECT_EQ(FromName<Module>("norm"), Module::kLayernorm);
  EXPECT_EQ(FromName<Module>("act"), Module::kActivation);
}

template <class Enum>
void ExpectNamesReadBack(int values) {
  EXPECT_EQ(NamesOf<Enum>().size(), static_cast<std::size_t>(values));
  for (int i = 0; i < values; ++i) {
    const Enum value = static_cast<Enum>(i);
    EXPECT_EQ(FromName<Enum>(Name(value)), value) << Name(value);
    EXPECT_EQ(NamesOf<Enum>()[static_cast<std::size_t>(i)], Name(value));
  }
  EXPECT_EQ(FromName<Enum>("no such word"), std::nullopt);
}
TEST(Names, ReadBack) {
  ExpectNamesReadBack<CpKind>(3);
  ExpectNamesReadBack<Schedule>(6);
  ExpectNamesReadBack<RecomputeKind>(5);
  ExpectNamesReadBack<Offload>(4);
  ExpectNamesReadBack<OffloadTo>(2);
  ExpectNamesReadBack<Module>(7);
}

TEST(Axes, HaveKeysAndColumnsOfTheirOwn) {
  std::set<std::string_view> keys, columns;
  for (const Axis& axis : Axes()) {
    EXPECT_TRUE(keys.insert(axis.key).second) << axis.key;
    EXPECT_TRUE(columns.insert(axis.column).second) << axis.column;
    EXPECT_EQ(FindAxis(axis.key), &axis);
  }
  EXPECT_EQ(FindAxis("no such key"), nullptr);
}

TEST(Key, IsReadable) {
  Plan plan;
  plan.sharding.tp = 8;
  plan.policy.overlap.grad_reduce = plan.policy.overlap.p2p = true;
  EXPECT_EQ(Key(plan),
            "tp=8 pp=1 vpp=1 cp=1 cp_kind=ring ep=1 etp=1 dp=1 sp=no zero_stage=0 zero_group=all "
            "micro_batch_size=1 microbatches=1 schedule=1f1b stage_layers=- recompute=none "
            "offload=none offload_to=- overlap=grad_reduce+p2p");
}

// The ranking must not depend on the order in which plans were found.
TEST(Compare, IsATotalOrderThatAgreesWithEqualityAndKeys) {
  Random random(1);
  std::vector<Plan> plans;
  for (int i = 0; i < 300; ++i) {
    Plan plan = RandomPlan(random);
    plans.push_back(plan);
    plan.sharding.recompute.modules = 0;
    plan.placement.stage_layers.clear();
    plans.push_back(plan);
  }
  for (const Plan& a : plans)
    for (const Plan& b : plans) {
      ASSERT_EQ(Compare(a, b) == 0, a == b) << Key(a) << '\n' << Key(b);
      ASSERT_EQ(Compare(a, b) < 0, Compare(b, a) > 0) << Key(a) << '\n' << Key(b);
    }
  std::map<std::string, Plan> by_key;
  for (const Plan& plan : plans) {
    if (plan.sharding.recompute.kind == RecomputeKind::kModules &&
        plan.sharding.recompute.modules == 0)
      continue;
    ASSERT_EQ(by_key.emplace(Key(plan), plan).first->second, plan) << Key(plan);
  }
}
}  // namespace
}  // namespace shardplan
