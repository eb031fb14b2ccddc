// SPDX-License-Identifier: Apache-2.0
// The export command as a user meets it: what it writes, and what it refuses to.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/cli/program.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;
using testing::ContentOf;
using testing::FileWith;
using ::testing::HasSubstr;
using testing::kSpec;
using testing::Outcome;
using testing::RunProgram;
using ::testing::UnorderedElementsAre;

class ExportCommand : public ::testing::Test {
 protected:
  ExportCommand() { fs::remove_all(directory_); }
  ~ExportCommand() override { fs::remove_all(directory_); }
  Outcome Export(const std::string& options) const {
    return RunProgram("export '" + spec_ + "' -o '" + directory_ + "' " + options);
  }
  const std::string spec_ = FileWith("spec.yaml", kSpec);
  const std::string directory_ = testing::PathOf("bundle");
};

std::vector<std::string> FilesOf(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    names.push_back(entry.path().filename().string());
  return names;
}

TEST_F(ExportCommand, WritesABundleWithItsPredictions) {
  const Outcome outcome = Export("--to megatron --launcher slurm --rank 2");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(FilesOf(directory_),
              UnorderedElementsAre("README.md", "env.sh", "train.sh", "job.sbatch"));
  EXPECT_THAT(ContentOf(directory_ + "/README.md"), HasSubstr("Rank 2 of `shardplan plan`"));
  EXPECT_NE(fs::status(directory_ + "/train.sh").permissions() & fs::perms::owner_exec,
            fs::perms::none);
}

TEST_F(ExportCommand, LeavesWhatIsThereAlone) {
  ASSERT_EQ(Export("--to megatron").code, 0);
  const Outcome again = Export("--to megatron");
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("exists already, and nothing was written; --force replaces"));
  EXPECT_EQ(Export("--to megatron --force --launcher slurm").code, 0);
  EXPECT_TRUE(fs::exists(directory_ + "/job.sbatch"));
}

TEST_F(ExportCommand, ReplacesNothingThatItDidNotWrite) {
  fs::create_directories(directory_);
  std::ofstream(directory_ + "/thesis.tex") << "precious";
  const Outcome outcome = Export("--to megatron --force");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("is no bundle of shardplan's"));
  EXPECT_EQ(ContentOf(directory_ + "/thesis.tex"), "precious");
}

TEST_F(ExportCommand, NamesTheRulesThatAGivenPlanBreaks) {
  const Outcome outcome = Export("--to megatron --given --set plan.tp=3");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("M2"));
  EXPECT_FALSE(fs::exists(directory_));
}

TEST_F(ExportCommand, SaysWhichTargetsAndRanksThereAre) {
  EXPECT_THAT(Export("--to megatrn").err, HasSubstr("did you mean megatron?"));
  EXPECT_THAT(Export("--to megatron@0.3").err, HasSubstr("megatron@0.18"));
  EXPECT_THAT(Export("--to megatron --launcher lsf").err, HasSubstr("there is no launcher 'lsf'"));
  EXPECT_FALSE(fs::exists(directory_));
}
}  // namespace
}  // namespace shardplan
