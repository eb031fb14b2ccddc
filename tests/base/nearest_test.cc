// SPDX-License-Identifier: Apache-2.0
#include "planner/base/nearest.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

using Words = std::vector<std::string>;

TEST(Nearest, OneSlipOfTheFingerIsNear) {
  const Words words = {"framework", "seq_length", "precision"};
  for (const char* slip : {"framwork", "frameworkk", "fraemwork", "Framework", "frame-work"})
    EXPECT_EQ(NearestWords(slip, words), Words{"framework"}) << slip;
  EXPECT_EQ(NearestWords("seq-length", words), Words{"seq_length"});
}

TEST(Nearest, ShortWordsAllowOneEdit) {
  EXPECT_EQ(NearestWords("tpp", {"tp", "pp", "cp"}), (Words{"tp", "pp"}));
  EXPECT_EQ(NearestWords("xyz", {"tp", "pp", "cp"}), Words{});
}

TEST(Nearest, ABeginningIsNear) {
  EXPECT_EQ(NearestWords("h100", {"a100-sxm", "h100-sxm", "h100-pcie", "h200"}),
            (Words{"h100-sxm", "h100-pcie"}))
      << "h200 is one edit away";
}

TEST(Nearest, AnythingElseIsFar) {
  EXPECT_EQ(NearestWords("", {"tp"}), Words{});
  EXPECT_EQ(NearestWords("parallelism", {"tp", "schedule", "recompute"}), Words{});
  EXPECT_EQ(NearestWords(std::string(100000, 'x'), {"tp"}), Words{});
}

TEST(Nearest, TheSuggestionListsWhatIsShort) {
  EXPECT_EQ(Suggest("adma", {"adam", "sgd"}, "it takes"), "did you mean adam? it takes adam, sgd");
  EXPECT_EQ(Suggest("xyz", {"adam", "sgd"}, "it takes"), "it takes adam, sgd");
  const Words many(50, "model");
  EXPECT_EQ(Suggest("modle", many, "it takes"), "did you mean model, model, model or model?");
}

}  // namespace
}  // namespace shardplan
