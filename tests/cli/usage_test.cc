// SPDX-License-Identifier: Apache-2.0
// What the command line says to mistakes: one sentence that names what works, and exit code 2.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/cli/program.h"

namespace shardplan {
namespace {
using testing::FileWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kSpec;
using testing::Outcome;
using testing::RunProgram;
using ::testing::StartsWith;

struct Mistake {
  const char* arguments;  // SPEC stands for a good spec
  const char* message;
};

class Usage : public ::testing::TestWithParam<Mistake> {};

TEST_P(Usage, MistakesGetOneSentence) {
  const std::string spec = FileWith("spec.yaml", kSpec);
  std::string arguments = GetParam().arguments;
  if (const std::size_t at = arguments.find("SPEC"); at != std::string::npos)
    arguments.replace(at, 4, spec);
  const Outcome run = RunProgram(arguments);
  unlink(spec.c_str());
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_EQ(run.err, std::string(GetParam().message) + "\n");
}

constexpr char kOps[] =
    "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv";
INSTANTIATE_TEST_SUITE_P(
    All, Usage,
    ::testing::Values(
        Mistake{"pln SPEC",
                "shardplan: there is no command 'pln': did you mean plan? it takes plan, check, "
                "export, model, collectives, probe, import, diff, list, bench, completion, "
                "version"},
        Mistake{"frobnicate",
                "shardplan: there is no command 'frobnicate': it takes plan, check, export, model, "
                "collectives, probe, import, diff, list, bench, completion, version"},
        Mistake{"plan", "shardplan: plan: SPEC is required; shardplan plan --help shows all"},
        Mistake{
            "plan SPEC another.yaml",
            "shardplan: plan: there is no place for the argument 'another.yaml'; shardplan plan "
            "--help shows all"},
        Mistake{"plan SPEC --thread 2",
                "shardplan: plan: there is no option '--thread': did you mean --threads? shardplan "
                "plan --help shows all"},
        Mistake{"plan SPEC --threads two",
                "shardplan: plan: --threads: 'two' is not a whole number from 1 to 1024"},
        Mistake{"plan SPEC --keep 0",
                "shardplan: plan: --keep: '0' is not a whole number from 1 to 10000"},
        Mistake{"plan SPEC --keep", "shardplan: plan: --keep needs a value: N"},
        Mistake{"check SPEC --set", "shardplan: check: --set needs a value: KEY=VALUE"},
        Mistake{"check SPEC -o xml",
                "shardplan: check: --output: there is no format 'xml': it takes text, json, yaml"},
        Mistake{"list gpu",
                "shardplan: list: KIND: there is no list 'gpu': did you mean gpus? it takes gpus, "
                "links, clusters, models, specs, frameworks"},
        Mistake{
            "collectives SPEC --op all_reduce",
            "shardplan: collectives: --ranks is required; shardplan collectives --help shows all"},
        Mistake{"collectives SPEC --op all_reduce --ranks 16",
                "shardplan: collectives: 16 ranks, 1 apart, need 16 GPUs and the cluster has 8; "
                "--ranks takes 1 to 8 here"},
        Mistake{"collectives SPEC --op all_reduce --ranks 4 --stride 3",
                "shardplan: collectives: 4 ranks, 3 apart, need 10 GPUs and the cluster has 8; "
                "--ranks takes 1 to 3 here"},
        Mistake{"collectives SPEC --op all_reduce --ranks 8 --sizes 1KiB,64parsec",
                "shardplan: collectives: --sizes: '64parsec' is not a size; it takes bytes, as in "
                "1KiB,64MiB,1048576"},
        Mistake{
            "collectives SPEC --op all_reduce --ranks 8 --sizes 0",
            "shardplan: collectives: --sizes: '0' is not a whole number of bytes from 1 to 1PiB"},
        Mistake{"plan no-such-file.yaml", "no-such-file.yaml: no such file"}));

TEST(UsageOfOps, NamesTheNearestAndAll) {
  const Outcome run = RunProgram("collectives - --op allreduce --ranks 8");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.err, std::string("shardplan: collectives: --op: there is no collective "
                                 "'allreduce': did you mean all_reduce? it takes ") +
                         kOps + "\n");
}

TEST(UsageOfSpecs, PointsAtTheKeyOfABadSpec) {
  const Outcome run =
      RunProgram("plan -", "model: {preset: llama-3-8b}\nclutser: {gpu: h100-sxm-80gb}\n");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, HasSubstr(":2:1:"));
  EXPECT_THAT(run.err, HasSubstr("cluster"));
}

TEST(Help, FitsOneScreen) {
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  const Outcome all = RunProgram("--help");
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.out, StartsWith("usage: shardplan COMMAND [SPEC] [--option=value ...]\n"));
  EXPECT_LE(lines(all.out), 24);
  EXPECT_EQ(RunProgram("help").out, all.out);
  for (const char* command :
       {"plan", "check", "model", "collectives", "list", "bench", "completion", "version"}) {
    EXPECT_THAT(all.out, HasSubstr(std::string("\n  ") + command));
    const Outcome help = RunProgram(std::string(command) + " --help");
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_THAT(help.err, IsEmpty()) << command;
    EXPECT_LE(lines(help.out), 24) << command;
    EXPECT_EQ(RunProgram(std::string("help ") + command).out, help.out) << command;
  }
}

TEST(Help, OfNothingGoesToStandardError) {
  const Outcome run = RunProgram("");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, StartsWith("usage: "));
}

TEST(Version, IsOneLine) {
  const Outcome run = RunProgram("version");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, StartsWith("shardplan "));
  EXPECT_EQ(RunProgram("--version").out, run.out);
}
}  // namespace
}  // namespace shardplan
