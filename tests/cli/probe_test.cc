// SPDX-License-Identifier: Apache-2.0
// `shardplan probe` starts real ranks, and leaves none behind.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/cli/program.h"

namespace shardplan {
namespace {
using testing::ContentOf;
using testing::FileWith;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::PathOf;
using testing::RunProgram;
using Json = nlohmann::json;

constexpr char kQuick[] =
    " --device=host --max-samples=1 --min-samples=1 --warm-up=1 --deadline 60";

// Some builds leave shardplan-probe out.
#define NEEDS_PROBE() \
  if (access(SHARDPLAN_PROBE_BINARY, X_OK) != 0) GTEST_SKIP() << "shardplan-probe is not built"

// A stand-in for shardplan-probe that notes its process and a child's, and ends for no signal but
// the last.
class Stubborn {
 public:
  Stubborn() {
    std::ofstream(script_) << "#!/bin/sh\ntrap '' TERM INT\nsleep 300 &\necho $$ $! >>" << pids_
                           << "\nwhile :; do sleep 1; done\n";
    chmod(script_.c_str(), 0700);
  }
  ~Stubborn() {
    unlink(script_.c_str());
    unlink(pids_.c_str());
  }
  std::string Variable() const { return "SHARDPLAN_PROBE='" + script_ + "'"; }
  std::vector<pid_t> Pids(std::size_t count) const {
    for (int tries = 0; tries < 200; ++tries) {
      std::istringstream text(ContentOf(pids_));
      std::vector<pid_t> pids{std::istream_iterator<pid_t>(text), {}};
      if (pids.size() >= count) return pids;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return {};
  }
  // Whether all of them have gone, soon.
  static bool AllGone(const std::vector<pid_t>& pids) {
    const auto alive = [](pid_t pid) {
      const std::string state = ContentOf("/proc/" + std::to_string(pid) + "/stat");
      return !state.empty() && state.find(") Z ") == std::string::npos;
    };
    for (int tries = 0; tries < 100; ++tries) {
      if (std::none_of(pids.begin(), pids.end(), alive)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }

 private:
  std::string script_ = PathOf("stubborn"), pids_ = PathOf("pids");
};

TEST(ProbeCommand, ShowsCollectivesAsNcclTestsDoes) {
  NEEDS_PROBE();
  const Outcome run = RunProgram(
      std::string("probe collectives --processes 2 --ops all_reduce,all_to_all --sizes 4K") +
      kQuick);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("busbw(GB/s)"));
  EXPECT_THAT(run.out,
              HasSubstr("\n all_reduce      2       1     4096   1024  fp32  sum      -1 "));
  EXPECT_THAT(run.out, HasSubstr("\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : "));
}

TEST(ProbeCommand, JsonIsTheRecordsAsTheyCome) {
  NEEDS_PROBE();
  const Outcome run =
      RunProgram(std::string("probe collectives -o json --processes 3 --sizes 12K") + kQuick);
  ASSERT_EQ(run.code, 0) << run.err;
  std::istringstream lines(run.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_EQ(Json::parse(line)["params"]["ranks"], 3);
  EXPECT_EQ(count, 2);
}

TEST(ProbeCommand, UsageErrorsAreTheProbesOwnAndSaidOnce) {
  NEEDS_PROBE();
  const Outcome run = RunProgram("probe collectives --processes 4 --ops all_redcue");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.err.find("did you mean all_reduce"), run.err.rfind("did you mean all_reduce"));
  EXPECT_EQ(RunProgram("probe").code, 2);
  EXPECT_THAT(RunProgram("probe collectives --help").out, HasSubstr("--ops"));
  EXPECT_THAT(RunProgram("probe --help").out, HasSubstr("--processes"));
}

TEST(ProbeCommand, AMissingProgramIsSaid) {
  const Outcome run = RunProgram("probe gemm --shapes 8x8x8", "", "SHARDPLAN_PROBE=/nowhere/probe");
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("/nowhere/probe cannot be run: No such file or directory"));
}

TEST(ProbeCommand, KillsTheWholeGroupAtTheDeadline) {
  const Stubborn stubborn;
  const Outcome run = RunProgram("probe x --processes 2 --deadline 1", "", stubborn.Variable());
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("the deadline of 1 s has passed, ranks killed"));
  const auto pids = stubborn.Pids(4);
  ASSERT_EQ(pids.size(), 4u);
  EXPECT_TRUE(Stubborn::AllGone(pids));
}

// Runs the launcher in the background and returns its process.
pid_t InBackground(const Stubborn& stubborn) {
  const std::string pid_file = PathOf("launcher");
  const std::string command = stubborn.Variable() +
                              " '" SHARDPLAN_BINARY "' probe x --processes 2 >" +
                              PathOf("ignored") + " 2>&1 </dev/null & echo $! >" + pid_file;
  EXPECT_EQ(std::system(command.c_str()), 0);  // NOLINT(cert-env33-c)
  const pid_t pid = std::stoi(ContentOf(pid_file));
  unlink(pid_file.c_str());
  unlink(PathOf("ignored").c_str());
  return pid;
}

TEST(ProbeCommand, AnInterruptLeavesNoProcess) {
  const Stubborn stubborn;
  const pid_t launcher = InBackground(stubborn);
  const auto pids = stubborn.Pids(4);
  ASSERT_EQ(pids.size(), 4u);
  kill(launcher, SIGTERM);  // a shell's background jobs ignore SIGINT
  EXPECT_TRUE(Stubborn::AllGone(pids));
}

TEST(ProbeCommand, RanksDieWithALauncherThatIsKilled) {
  const Stubborn stubborn;
  const pid_t launcher = InBackground(stubborn);
  const auto pids = stubborn.Pids(4);
  ASSERT_EQ(pids.size(), 4u);
  kill(launcher, SIGKILL);
  EXPECT_TRUE(Stubborn::AllGone({pids[0], pids[2]}));
  for (const pid_t pid : {pids[1], pids[3]}) kill(pid, SIGKILL);  // of the stand-in alone
}
}  // namespace
}  // namespace shardplan
