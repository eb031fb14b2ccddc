// SPDX-License-Identifier: Apache-2.0
#include "planner/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Lower, ChangesLettersAlone) { EXPECT_EQ(Lower("Llama-3.1 8B_X"), "llama-3.1 8b_x"); }

TEST(SplitAt, GivesOnePartMoreThanThereAreSeparators) {
  EXPECT_THAT(SplitAt(',', "a,b"), ElementsAre("a", "b"));
  EXPECT_THAT(SplitAt(',', ",a,,b,"), ElementsAre("", "a", "", "b", ""));
  EXPECT_THAT(SplitAt(',', ""), ElementsAre(""));
}

TEST(WordsOf, AreLettersAndDigitsInLowerCase) {
  EXPECT_THAT(WordsOf("Llama-3.1-8B"), ElementsAre("llama", "3", "1", "8b"));
  EXPECT_THAT(WordsOf("NVIDIA A100-SXM4-40GB"), ElementsAre("nvidia", "a100", "sxm4", "40gb"));
  EXPECT_THAT(WordsOf("--"), IsEmpty());
}
}  // namespace
}  // namespace shardplan
