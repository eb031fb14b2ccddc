// SPDX-License-Identifier: Apache-2.0
#include "planner/export/accepted.h"

#include "tests/export/jobs.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

AcceptedKeys Megatron() {
  return *ParseAcceptedKeys(
      testing::TextOf(std::string(SHARDPLAN_SOURCE_DIR) + "/configs/targets/megatron@0.18.json"));
}

std::vector<std::string> Check(std::string key, Json value) {
  Settings settings{.table = "megatron@0.18", .list = {}};
  settings.Set(std::move(key), std::move(value));
  return CheckSettings(settings, Megatron());
}

TEST(AcceptedKeys, TakeAKnownFlagOfItsType) {
  EXPECT_THAT(Check("--tensor-model-parallel-size", 8), IsEmpty());
  EXPECT_THAT(Check("--bf16", true), IsEmpty());
  EXPECT_THAT(Check("--lr", 1), IsEmpty());  // a whole number is a float too
  EXPECT_THAT(Check("--recompute-modules", Json::array({"mlp", "moe"})), IsEmpty());
}

TEST(AcceptedKeys, NameWhatIsWrong) {
  EXPECT_THAT(Check("--tensor-parallel-size", 8), ElementsAre(HasSubstr("is unknown")));
  EXPECT_THAT(Check("--tensor-model-parallel-size", "8"), ElementsAre(HasSubstr("not int")));
  EXPECT_THAT(Check("--bf16", "yes"), ElementsAre(HasSubstr("is a flag without a value")));
  EXPECT_THAT(Check("--normalization", "BatchNorm"),
              ElementsAre(HasSubstr("not one of LayerNorm, RMSNorm")));
  EXPECT_THAT(Check("--moe-aux-loss-coeff", Json::array({"much"})),
              ElementsAre(HasSubstr("not float")));
}

TEST(AcceptedKeys, HaveATableForEveryTargetAndVersion) {
  for (const Target& target : Targets())
    for (const std::string_view version : target.versions)
      EXPECT_TRUE(FindLauncher("torchrun") != nullptr &&
                  ChooseTarget(std::string(target.name) + "@" + std::string(version), {}))
          << target.name;
}

TEST(ChooseTarget, TakesTheSpecsVersionAndItsReleases) {
  EXPECT_EQ(ChooseTarget("megatron", "0.18.2")->version, "0.18");
  EXPECT_EQ(ChooseTarget("megatron@0.19", "0.18")->version, "0.19");
  EXPECT_EQ(ChooseTarget("megatron", "")->version, "0.19");
}

TEST(ChooseTarget, SaysWhatIsRecorded) {
  EXPECT_EQ(ChooseTarget("megatron", "0.14").error().message,
            "the flags of megatron 0.14 are not recorded; these are: megatron@0.18, megatron@0.19");
  EXPECT_THAT(ChooseTarget("megatrn", "").error().message, HasSubstr("did you mean megatron?"));
}
}  // namespace
}  // namespace shardplan
