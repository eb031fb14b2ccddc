// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace shardplan {
namespace {
using testing::FileWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kSpec;
using testing::kTooLarge;
using ::testing::Not;
using testing::Outcome;
using testing::RunProgram;
using ::testing::StartsWith;
using Json = nlohmann::json;

class Cli : public ::testing::Test {
 protected:
  const std::string spec_ = FileWith("spec.yaml", kSpec);
  ~Cli() override { unlink(spec_.c_str()); }
};

TEST_F(Cli, PlanRanksPlansOnStandardOutputAlone) {
  const Outcome run = RunProgram("plan " + spec_ + " --keep 3");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_THAT(run.out, HasSubstr("\n rank "));
  EXPECT_THAT(run.out, HasSubstr("\n    1 "));
  EXPECT_THAT(run.out, HasSubstr("\n    3 "));
  EXPECT_THAT(run.out, Not(HasSubstr("\n    4 ")));
  EXPECT_THAT(run.out, Not(HasSubstr("\033"))) << "no colours into a file";
}

TEST_F(Cli, PlanAsJson) {
  const Outcome run = RunProgram("plan " + spec_ + " -o json --keep 2 --threads 1");
  EXPECT_EQ(run.code, 0);
  const Json json = Json::parse(run.out);
  EXPECT_EQ(json["schema"], "shardplan/v1");
  EXPECT_EQ(json["plans"].size(), 2u);
  EXPECT_EQ(json["searched"]["threads"], 1);
  EXPECT_GT(json["searched"]["covered"], 0);
  EXPECT_GT(json["searched"]["seconds"], 0);
}

// The numbers of a plan are the same whoever shows them.
TEST_F(Cli, CheckWantsOnePlan) {
  const Outcome run = RunProgram("check " + spec_ + " --set 'plan.tp=[2, 4]'");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, ::testing::HasSubstr("plan.tp lists several candidates"));
}

TEST_F(Cli, CheckSaysWhatPlanSaid) {
  const Json best = Json::parse(RunProgram("plan " + spec_ + " -o json --keep 1").out)["plans"][0];
  std::string sets;
  for (const char* key : {"tp", "pp", "vpp", "cp", "dp", "zero_stage", "micro_batch_size"})
    sets += std::string(" --set plan.") + key + "=" + best["plan"][key].dump();
  for (const char* key : {"schedule", "recompute", "offload"})
    sets += std::string(" --set plan.") + key + "=" + best["plan"][key].get<std::string>();
  const Outcome run = RunProgram("check " + spec_ + " -o json" + sets);
  EXPECT_EQ(run.code, 0) << run.err;
  const Json check = Json::parse(run.out);
  EXPECT_EQ(check["plan"], best["plan"]);
  EXPECT_EQ(check["memory"], best["memory"]);
  EXPECT_EQ(check["time"], best["time"]);
  EXPECT_EQ(check["verdict"], best["verdict"]);
}

TEST_F(Cli, SpecFromStandardInput) {
  const Outcome piped = RunProgram("check - -o json", kSpec);
  EXPECT_EQ(piped.code, 0) << piped.err;
  const Json from_file = Json::parse(RunProgram("check " + spec_ + " -o json").out);
  EXPECT_EQ(Json::parse(piped.out)["memory"], from_file["memory"]);
}

TEST_F(Cli, SetOverridesKeysAndComesAnywhere) {
  const Outcome run = RunProgram("check --set plan.tp=2 " + spec_ + " --set plan.pp=2 -o json");
  EXPECT_EQ(run.code, 0) << run.err;
  const Json plan = Json::parse(run.out)["plan"];
  EXPECT_EQ(plan["tp"], 2);
  EXPECT_EQ(plan["pp"], 2);
  EXPECT_EQ(plan["dp"], 2);
}

TEST_F(Cli, IllegalPlanExitsWithThreeAndHasNoMemory) {
  const Outcome run = RunProgram("check " + spec_ + " --set plan.tp=3 -o json");
  EXPECT_EQ(run.code, 3);
  const Json json = Json::parse(run.out);
  EXPECT_EQ(json["verdict"], "illegal");
  EXPECT_FALSE(json["reasons"].empty());
  EXPECT_FALSE(json.contains("memory"));
  EXPECT_FALSE(json.contains("time"));
  EXPECT_THAT(RunProgram("check " + spec_ + " --set plan.tp=3").out, HasSubstr("verdict: illegal"));
}

TEST_F(Cli, NothingThatFitsExitsWithThreeAndSaysWhy) {
  const Outcome run = RunProgram("plan -", kTooLarge);
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_THAT(run.out, HasSubstr("no plan fits"));
  EXPECT_THAT(run.out, HasSubstr("the closest plans"));
  const Json json = Json::parse(RunProgram("plan - -o json", kTooLarge).out);
  EXPECT_TRUE(json["plans"].empty());
  EXPECT_FALSE(json["nearest"].empty());
  EXPECT_GT(json["searched"]["rejected"]["memory"], 0);

  const Outcome check = RunProgram("check - -o json", kTooLarge);
  EXPECT_EQ(check.code, 3);
  EXPECT_EQ(Json::parse(check.out)["verdict"], "oom");
}

TEST_F(Cli, ModelCountsParametersFromAModelSectionAlone) {
  const Outcome run = RunProgram("model - -o json", "model: {preset: llama-3-70b}\n");
  EXPECT_EQ(run.code, 0) << run.err;
  const Json json = Json::parse(run.out);
  EXPECT_EQ(json["parameters"], 70553706496);
  EXPECT_EQ(json["layers"][0]["count"], 80);
}

TEST_F(Cli, CollectivesEchoBytes) {
  const Outcome run =
      RunProgram("collectives - --op all_reduce --ranks 8 --sizes 1KiB,1048576,1000 -o json",
                 "cluster: {preset: dgx-h100}\n");
  EXPECT_EQ(run.code, 0) << run.err;
  const Json rows = Json::parse(run.out)["collectives"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["bytes"], 1024);
  EXPECT_EQ(rows[1]["bytes"], 1048576);
  EXPECT_EQ(rows[2]["bytes"], 1000);
  for (const Json& row : rows) EXPECT_GT(row["seconds"], 0);
}

TEST_F(Cli, YamlSaysWhatJsonSays) {
  const std::string yaml = RunProgram("check " + spec_ + " -o yaml").out;
  EXPECT_THAT(yaml, StartsWith("schema: \"shardplan/v1\"\n"));
  EXPECT_THAT(yaml, HasSubstr("\nverdict: \"fits\"\n"));
  EXPECT_THAT(yaml, HasSubstr("\n  tp: 1\n"));
  const Json json = Json::parse(RunProgram("check " + spec_ + " -o json").out);
  EXPECT_THAT(yaml, HasSubstr("\n  step_seconds: " + json["time"]["step_seconds"].dump() + "\n"));
}

TEST_F(Cli, ListsShowTheCatalogue) {
  for (const char* kind : {"gpus", "links", "clusters", "models", "specs", "frameworks"}) {
    const Outcome run = RunProgram(std::string("list ") + kind + " -o json");
    EXPECT_EQ(run.code, 0) << kind << ": " << run.err;
    const Json json = Json::parse(run.out);
    EXPECT_FALSE(json[kind].empty()) << kind;
    EXPECT_EQ(RunProgram(std::string("list ") + kind).code, 0);
  }
}

TEST_F(Cli, BenchPrintsASignatureThatStays) {
  const auto signature = [&](const std::string& options) {
    const Outcome run = RunProgram("bench " + spec_ + " --repeat 1 -o json " + options);
    EXPECT_EQ(run.code, 0) << run.err;
    return Json::parse(run.out)["bench"][0]["signature"].get<std::string>();
  };
  EXPECT_EQ(signature("--threads 1"), signature("--threads 4"));
}

TEST_F(Cli, CompletionIsAScript) {
  const Outcome run = RunProgram("completion bash");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("plan) words=\"--help --set --output --keep --threads\" ;;"));
  const std::string path = FileWith("completion", run.out);
  EXPECT_EQ(std::system(("bash -n '" + path + "'").c_str()), 0);
  unlink(path.c_str());
}

TEST_F(Cli, OutputIsPlainWhereTheLocaleOrNoColorSaysSo) {
  const std::string bars = "█";
  EXPECT_THAT(RunProgram("check " + spec_, "", "LC_ALL=C.UTF-8 NO_COLOR=").out, HasSubstr(bars));
  EXPECT_THAT(RunProgram("check " + spec_, "", "LC_ALL=C.UTF-8 NO_COLOR=1").out,
              Not(HasSubstr(bars)));
  EXPECT_THAT(RunProgram("check " + spec_, "", "LC_ALL=C NO_COLOR=").out, Not(HasSubstr(bars)));
}

TEST_F(Cli, WriteErrorsAreErrors) {
  const std::string program = "'" SHARDPLAN_BINARY "'";
  const auto code_of = [](const std::string& script) {
    return WEXITSTATUS(std::system(("bash -c \"" + script + "\" 2>/dev/null").c_str()));
  };
  EXPECT_EQ(code_of(program + " check " + spec_ + " >/dev/full"), 1);
  // The reader is gone before the program writes: it takes the spec only after that.
  EXPECT_EQ(code_of("(sleep 0.2; cat " + spec_ + ") | " + program +
                    " check - | true; exit \\${PIPESTATUS[1]}"),
            1);
}
}  // namespace
}  // namespace shardplan
