// SPDX-License-Identifier: Apache-2.0
// cluster.profile: records become corrections of what is predicted.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "planner/cost/kernel_time.h"
#include "planner/machine/collective.h"
#include "planner/report/subject.h"
#include "planner/spec/problem.h"
#include "planner/spec/profile_reader.h"

namespace shardplan {
namespace {
using ::testing::HasSubstr;

constexpr char kCollective[] =
    R"({"schema":"shardplan.record/v1","probe":"collectives","params":{"op":"all_reduce",)"
    R"("ranks":8,"stride":1,"bytes":1048576,"dtype":"bf16","in_place":false},"metric":"seconds",)"
    R"("unit":"s","median":0.00125,"check":"ok"})";
constexpr char kGemm[] =
    R"({"schema":"shardplan.record/v1","probe":"gemm","params":{"m":4096,"n":4096,"k":4096,)"
    R"("dtype":"bf16"},"metric":"seconds","unit":"s","median":0.0005,"check":"none"})";
constexpr char kYaml[] = R"(
- schema: shardplan.record/v1
  probe: gemm
  params: {m: 4096, n: 4096, k: 4096, dtype: bf16}
  metric: seconds
  unit: s
  median: 0.0005
  check: none
)";

class ProfileTest : public ::testing::Test {
 protected:
  ~ProfileTest() override { unlink(path_.c_str()); }
  // The machine of a spec with a profile that holds `records`.
  Result<Machine> MachineWith(const std::string& records) {
    std::ofstream(path_) << records;
    const std::string spec =
        "cluster: {gpu: h100-sxm-80gb, nodes: 1, gpus_per_node: 8, profile: '" + path_ + "'}\n";
    const Result<Problem> problem = ParseProblem(spec, "spec.yaml", {}, Needs::kCluster);
    if (!problem) return tl::unexpected(problem.error());
    return problem->machine;
  }
  const std::string path_ =
      ::testing::TempDir() + "shardplan_profile_" + std::to_string(getpid()) + ".yaml";
};

TEST_F(ProfileTest, MeasuredCollectivesReplacePredictedOnes) {
  const Result<Machine> machine = MachineWith(std::string(kCollective) + "\n");
  ASSERT_TRUE(machine) << machine.error().message;
  const Communicator group(*machine, {8, 1});
  EXPECT_DOUBLE_EQ(group.Time(Collective::kAllReduce, 1_MiB).value, 0.00125);
  EXPECT_EQ(Basis(*machine), "mixed");
}

TEST_F(ProfileTest, MeasuredProductsCorrectThoseAroundThem) {
  const Machine plain = *MachineWith("");
  EXPECT_EQ(Basis(plain), "datasheet");
  for (const std::string& records : {std::string(kGemm) + "\n", std::string(kYaml)}) {
    const Result<Machine> machine = MachineWith(records);
    ASSERT_TRUE(machine) << machine.error().message;
    const auto time = [](const Machine& m, double n) {
      return GemmTime(m.gpu, Number::kBf16, 4096, n, 4096).value;
    };
    EXPECT_DOUBLE_EQ(time(*machine, 4096), 0.0005);
    EXPECT_NEAR(time(*machine, 8192) / time(plain, 8192), 0.0005 / time(plain, 4096), 1e-9);
    EXPECT_EQ(GemmTime(machine->gpu, Number::kFp32, 4096, 4096, 4096),
              GemmTime(plain.gpu, Number::kFp32, 4096, 4096, 4096))
        << "another format was not measured";
  }
}

std::string AttentionRecord(const char* pass, double seconds) {
  return fmt::format(
      R"({{"schema":"shardplan.record/v1","probe":"attention","params":{{"batch":2,"heads":16,)"
      R"("kv_heads":4,"seq":4096,"head_dim":128,"causal":true,"pass":"{}","dtype":"bf16"}},)"
      R"("metric":"seconds","unit":"s","median":{},"check":"none"}})"
      "\n",
      pass, seconds);
}

// Forward and backward are corrected each by its own; an older kernel was not measured.
TEST_F(ProfileTest, MeasuredAttentionCorrectsEachPass) {
  const Machine machine =
      *MachineWith(AttentionRecord("forward", 0.002) + AttentionRecord("backward", 0.007));
  const Machine plain = *MachineWith("");
  const Flops flops{4.0 * 2 * 16 * 4096 * 4096 * 128 / 2};
  const auto time = [&](const Machine& m, auto pass, FlashKernel kernel) {
    return pass(m.gpu, Number::kBf16, flops, 128, 4096, kernel).value;
  };
  EXPECT_NEAR(time(machine, FlashTime, FlashKernel::kNewest), 0.002, 1e-12);
  EXPECT_NEAR(time(machine, FlashBackwardTime, FlashKernel::kNewest), 0.007, 1e-12);
  EXPECT_EQ(time(machine, FlashTime, FlashKernel::kVersion2),
            time(plain, FlashTime, FlashKernel::kVersion2));
}

// A pass is known by its name, and by the bytes that its rate counts.
TEST_F(ProfileTest, MeasuredPassesCorrectTheirOwnKind) {
  const std::string record =
      R"({"schema":"shardplan.record/v1","probe":"elementwise","params":{"name":"swiglu",)"
      R"("elements":67108864,"width":4096,"dtype":"bf16"},"metric":"seconds","unit":"s",)"
      R"("median":0.0002,"check":"none","bytes_per_second":2e12})";
  const Machine machine = *MachineWith(record + "\n"), plain = *MachineWith("");
  const Bytes bytes{4e8};
  EXPECT_NEAR(MemoryPassTime(machine.gpu, "swiglu", bytes, 4096).value, 0.0002, 1e-12);
  EXPECT_EQ(MemoryPassTime(machine.gpu, "gelu", bytes, 4096),
            MemoryPassTime(plain.gpu, "gelu", bytes, 4096));
}

// Operands of a step's kernels come from the kernel before, and its products are the library's
// first proposal.
TEST_F(ProfileTest, WhatNoStepDoesSaysNothing) {
  std::string cold = kGemm, candidates = kGemm;
  cold.replace(cold.find(R"("dtype")"), 7, R"("cold":true,"dtype")");
  candidates.replace(candidates.find(R"("dtype")"), 7, R"("candidates":8,"dtype")");
  EXPECT_EQ(Basis(*MachineWith(cold + "\n" + candidates + "\n")), "datasheet");
}

TEST_F(ProfileTest, KernelsAndTrafficTogetherAreMeasured) {
  EXPECT_EQ(Basis(*MachineWith(std::string(kCollective) + "\n" + kGemm)), "measured");
}

// Wrong results, failed allocations and other probes say nothing of time.
TEST_F(ProfileTest, RecordsThatSayNothingArePassedOver) {
  std::string wrong = kCollective, metric = kGemm, probe = kGemm;
  wrong.replace(wrong.find(R"("ok")"), 4, R"("7 wrong")");
  metric.replace(metric.find(R"("seconds")"), 9, R"("failed_allocation")");
  probe.replace(probe.find(R"("gemm")"), 6, R"("disk")");
  EXPECT_EQ(Basis(*MachineWith(wrong + "\n" + metric + "\n\n" + probe + "\n")), "datasheet");
}

// Where a size was measured in place too, what counts is out of place.
TEST_F(ProfileTest, OutOfPlaceCounts) {
  std::string in_place = kCollective;
  in_place.replace(in_place.find("false"), 5, "true").replace(in_place.find("0.00125"), 7, "9.0");
  const Machine machine = *MachineWith(in_place + "\n" + kCollective + "\n");
  EXPECT_DOUBLE_EQ(Communicator(machine, {8, 1}).Time(Collective::kAllReduce, 1_MiB).value,
                   0.00125);
}

TEST_F(ProfileTest, MistakesHaveAPlace) {
  const auto error = [&](const std::string& records) {
    const Result<Machine> machine = MachineWith(records);
    return machine ? std::string("no error") : machine.error().message;
  };
  EXPECT_THAT(error(std::string(kGemm) + "\n{\"probe\": 3}\n"),
              HasSubstr(path_ + ":2:1: not a record"));
  EXPECT_THAT(error("- {schema: other}\n"), HasSubstr(path_ + ":1:3: not a record"));
  EXPECT_THAT(error("nodes: 3\n"),
              HasSubstr("expected schema: shardplan.record/v1, probe, params"));
  const Result<Problem> missing = ParseProblem(
      "cluster: {gpu: h100-sxm-80gb, profile: nowhere.yaml}\n", "spec.yaml", {}, Needs::kCluster);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("spec.yaml:1:40: cluster.profile: "));
}
}  // namespace
}  // namespace shardplan
