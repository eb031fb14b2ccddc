// SPDX-License-Identifier: Apache-2.0
#include "planner/space/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "planner/plan/axes.h"
#include "planner/space/domain.h"
#include "tests/framework/toys.h"

namespace shardplan {
namespace {
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

struct Sizes {
  double covered = 0, shardings = 0, placements = 0, legal = 0;
  friend bool operator==(const Sizes&, const Sizes&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Sizes& s) {
    return out << std::fixed << s.covered << " covered, " << s.shardings << " shardings, "
               << s.placements << " placements, " << s.legal << " legal";
  }
};

Sizes SizesOf(const Space& space) {
  Sizes sizes{.covered = space.Covered()};
  for (const Sharding& sharding : space.Shardings()) {
    ++sizes.shardings;
    for (const Placement& placement : space.Placements(sharding)) {
      ++sizes.placements;
      sizes.legal += static_cast<double>(space.Policies(sharding, placement).size());
    }
  }
  return sizes;
}

double Sum(const std::map<std::string, double>& rejected) {
  double sum = 0;
  for (const auto& [id, count] : rejected) sum += count;
  return sum;
}

// Counts of known jobs. They change with the rules and the domain: say why when they do.
TEST(Space, CountsKnownJobs) {
  const Wishes open;
  const auto sizes = [&](const Model& model, int nodes, FrameworkId id, int batch, int seq_length) {
    const Machine machine = toys::Hopper(nodes);
    const Training training = toys::With(id, batch, seq_length);
    const Space space(model, machine, training, open);
    const Sizes found = SizesOf(space);
    EXPECT_EQ(found.legal + Sum(space.Rejected()), found.covered);
    return found;
  };
  EXPECT_EQ(sizes(toys::Llama70B(), 8, FrameworkId::kMegatron, 1024, 8192),
            (Sizes{245196, 231, 9969, 142519}));
  EXPECT_EQ(sizes(toys::Llama405B(), 2048, FrameworkId::kMegatron, 2048, 8192),
            (Sizes{375732, 231, 1548, 21828}));
  EXPECT_EQ(sizes(toys::Llama405B(), 2048, FrameworkId::kMegatron, 2048, 131072),
            (Sizes{1016064, 630, 11991, 177905}));
  EXPECT_EQ(sizes(toys::DeepseekV3(), 256, FrameworkId::kMegatron, 15360, 4096),
            (Sizes{1379784, 1323, 26865, 395511}));
  EXPECT_EQ(sizes(toys::Llama70B(), 8, FrameworkId::kTorchtitan, 1024, 8192),
            (Sizes{94122, 168, 7563, 47634}));
  EXPECT_EQ(sizes(toys::Llama70B(), 8, FrameworkId::kDdp, 1024, 8192), (Sizes{1386, 21, 15, 30}));
}

TEST(Space, ChargesAPointToTheFirstRuleThatItsPrefixBreaks) {
  const Model model = toys::Llama70B();
  const Machine machine = toys::Hopper(8);
  const Training training = toys::With(FrameworkId::kMegatron);
  Wishes wishes;
  wishes.tp = {3, 8};  // 3 divides neither GPUs nor heads
  wishes.pp = wishes.vpp = wishes.cp = wishes.micro_batch_size = {1};
  wishes.recompute = {Recompute{}};
  wishes.zero_stage = {1, 7};
  wishes.offload = {Offload::kNone, Offload::kOptimizerAndParams};
  wishes.zero_group = {0, 3};
  const Space space(model, machine, training, wishes);
  EXPECT_EQ(space.Covered(), 16);
  EXPECT_THAT(space.Rejected(), UnorderedElementsAre(Pair("M1", 8),    // tp 3
                                                     Pair("G10", 4),   // zero_stage 7
                                                     Pair("G12", 2),   // offload of parameters
                                                     Pair("G11", 1)))  // groups of 3
  ;
  EXPECT_EQ(SizesOf(space).legal, 1);
}

TEST(Space, SearchesTensorDegreesOverTwoDomainsWhereANodeIsLess) {
  const Model model = toys::Llama70B();
  Machine machine = toys::Hopper(18, 4);
  EXPECT_THAT(TensorDegrees(model, machine), ElementsAre(1, 2, 4));
  machine.scale_up_domain = 72;
  EXPECT_THAT(TensorDegrees(model, machine), ElementsAre(1, 2, 4, 8, 16, 32, 64));
  machine.scale_up_domain = 16;
  EXPECT_THAT(TensorDegrees(model, machine), ElementsAre(1, 2, 4, 8, 16, 32));
}

TEST(Space, SearchesContextDegreesThatLeaveEnoughTokens) {
  EXPECT_THAT(ContextDegrees(toys::With(FrameworkId::kMegatron, 8, 32768)),
              ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(ContextDegrees(toys::With(FrameworkId::kMegatron, 8, 4096)), ElementsAre(1));
  EXPECT_THAT(ContextDegrees(toys::With(FrameworkId::kMegatron, 8, 0)), ElementsAre(1));
  EXPECT_EQ(ContextDegrees(toys::With(FrameworkId::kMegatron, 8, 1 << 20)).back(), 64);
}

TEST(Space, MayBeAskedByManyThreadsAtOnce) {
  const Model model = toys::Llama70B();
  const Machine machine = toys::Hopper(4);
  const Training training = toys::With(FrameworkId::kMegatron, 256);
  const Wishes open;
  const Space space(model, machine, training, open);
  const Sizes alone = SizesOf(space);
  std::vector<Sizes> sizes(4);
  std::vector<double> rejected(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      threads.emplace_back([&, i] {
        rejected[i] = Sum(space.Rejected());
        sizes[i] = SizesOf(space);
      });
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(sizes[i], alone);
    EXPECT_EQ(rejected[i] + alone.legal, alone.covered);
  }
}

class Fixed : public ::testing::Test {
 protected:
  Plan Planned() const { return FixedPlan(model_, machine_, training_, wishes_); }
  Model model_ = toys::Llama70B();
  Machine machine_ = toys::Hopper(8);
  Training training_ = toys::With(FrameworkId::kMegatron);
  Wishes wishes_;
};

TEST_F(Fixed, FillsInTheContractsDefaults) {
  wishes_.tp = {8};
  wishes_.pp = {4};
  wishes_.vpp = {2};
  wishes_.micro_batch_size = {2};
  const Plan plan = Planned();
  EXPECT_EQ(
      Key(plan),
      "tp=8 pp=4 vpp=2 cp=1 cp_kind=ring ep=1 etp=1 dp=2 sp=yes zero_stage=0 zero_group=all "
      "micro_batch_size=2 microbatches=256 schedule=interleaved stage_layers=- recompute=none "
      "offload=none offload_to=- overlap=grad_reduce+p2p");
  EXPECT_TRUE(BrokenRules(model_, machine_, training_, plan).empty());
  wishes_.tp = {1};
  EXPECT_FALSE(Planned().sharding.sp);
  wishes_.zero_stage = {1};
  EXPECT_TRUE(Planned().policy.overlap.param_gather);
}

TEST_F(Fixed, TakesTheFrameworksZeroStage) {
  for (const auto& [id, stage] : {std::pair{FrameworkId::kMegatron, 0},
                                  {FrameworkId::kFsdp, 3},
                                  {FrameworkId::kTorchtitan, 3},
                                  {FrameworkId::kDeepspeed, 0},
                                  {FrameworkId::kDdp, 0}}) {
    training_ = toys::With(id);
    EXPECT_EQ(Planned().policy.zero_stage, stage) << FrameworkOf(id).name;
  }
}

// Megatron's default etp is tp; recipes say 1 where experts cannot be cut so.
TEST_F(Fixed, CutsExpertsAsAllElseWhereTheyFit) {
  model_ = toys::WithExperts(toys::Dense(94, 64, 4), 128, 1536);
  wishes_.tp = {2};
  wishes_.ep = {16};
  EXPECT_EQ(Planned().sharding.etp, 2);
  wishes_.ep = {64};
  EXPECT_EQ(Planned().sharding.etp, 1);
  EXPECT_TRUE(BrokenRules(model_, machine_, training_, Planned()).empty());
  wishes_.etp = {2};
  EXPECT_FALSE(BrokenRules(model_, machine_, training_, Planned()).empty());
  wishes_ = {};
  wishes_.tp = {8};
  model_ = toys::Llama70B();
  EXPECT_EQ(Planned().sharding.etp, 1);
}

TEST_F(Fixed, NeverFails) {
  wishes_.tp = {7};
  wishes_.cp = {1 << 30};
  wishes_.pp = {1 << 30};
  wishes_.dp = {1 << 30};
  wishes_.micro_batch_size = {1 << 30};
  EXPECT_EQ(Planned().placement.microbatches, 1);
  EXPECT_FALSE(BrokenRules(model_, machine_, training_, Planned()).empty());
}

TEST_F(Fixed, IsThePointOfItsOwnSpace) {
  for (const Framework& framework : Frameworks()) {
    training_ = toys::With(framework.id);
    const Plan plan = Planned();
    wishes_.recompute = {plan.sharding.recompute};
    wishes_.tp = wishes_.cp = wishes_.pp = wishes_.vpp = wishes_.micro_batch_size = {1};
    wishes_.zero_stage = {plan.policy.zero_stage};
    wishes_.zero_group = {0};
    wishes_.offload = {Offload::kNone};
    const Space space(model_, machine_, training_, wishes_);
    ASSERT_EQ(space.Covered(), 1) << framework.name;
    const Sharding sharding = space.Shardings().at(0);
    const Placement placement = space.Placements(sharding).at(0);
    EXPECT_EQ((Plan{sharding, placement, space.Policies(sharding, placement).at(0)}), plan)
        << framework.name;
    wishes_ = {};
  }
}

TEST(OverlapOf, LeavesOutWhatIsNotThere) {
  const Overlap all{true, true, true, true, true};
  EXPECT_EQ(OverlapOf(all, {}, {}, 0), (Overlap{.grad_reduce = true}));
  EXPECT_EQ(OverlapOf(all, {.tp = 2, .ep = 2, .sp = true}, {.pp = 2, .vpp = 2}, 1), all);
  EXPECT_FALSE(OverlapOf({.param_gather = true}, {}, {}, 1).param_gather);
}
}  // namespace
}  // namespace shardplan
