// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <set>

#include "probe/passes.h"
#include "probe/patterns.h"
#include "tests/probe/ranks.h"

namespace shardplan::probe {
namespace {
using testing::Json;
using testing::Outcome;
using testing::RunProbe;

constexpr char kQuick[] = " --device=host --max-samples=3 --min-samples=1 --warm-up=1 ";

TEST(Passes, CountWhatMustBeMoved) {
  const auto bytes = [](const char* name, Dtype dtype) {
    return BytesOf(*FindPass(name),
                   {.name = name, .elements = 4096, .width = 1024, .dtype = dtype});
  };
  EXPECT_EQ(bytes("swiglu", Dtype::kBf16), 3 * 2 * 4096);            // gate, up and y
  EXPECT_EQ(bytes("rms_norm", Dtype::kFp32), 2 * 4 * 4096 + 4 * 4);  // x, y; one figure a row
  EXPECT_EQ(bytes("adamw_master", Dtype::kBf16), 30 * 4096);
}

TEST(Passes, AndPatternsHaveNamesOfTheirOwn) {
  const std::vector<std::string> passes = PassNames(), patterns = PatternNames();
  EXPECT_EQ(std::set<std::string>(passes.begin(), passes.end()).size(), passes.size());
  EXPECT_EQ(std::set<std::string>(patterns.begin(), patterns.end()).size(), patterns.size());
}

TEST(KernelProbes, TellALayersProductsApart) {
  const Outcome run =
      RunProbe(std::string("gemm --shapes 16x8x4 --passes forward,input,weight") + kQuick);
  ASSERT_EQ(run.code, 0) << run.err;
  const std::vector<Json> records = run.Records();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_FALSE(records[0]["params"].contains("pass"));
  EXPECT_EQ(records[1]["params"]["pass"], "input");
  EXPECT_EQ(records[2]["params"]["pass"], "weight");
}

TEST(KernelProbes, CopyGoesEachWayAndBothAtOnce) {
  const Outcome run = RunProbe(std::string("copy --sizes 64KiB") + kQuick);
  ASSERT_EQ(run.code, 0) << run.err;
  const std::vector<Json> records = run.Records();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[3]["params"]["kind"], "both_ways");
  EXPECT_NEAR(records[3]["bytes_per_second"].get<double>() * records[3]["median"].get<double>(),
              2 * 65536, 1);
}

TEST(KernelProbes, OverlapSaysWhatEachTakesAlone) {
  const Outcome run = RunProbe(
      std::string("overlap --kinds device --sizes 64KiB --shapes 32x32x32 --dtypes fp32") + kQuick);
  ASSERT_EQ(run.code, 0) << run.err;
  const std::vector<Json> records = run.Records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_GT(records[0]["copy_seconds"].get<double>(), 0);
  EXPECT_GT(records[0]["gemm_seconds"].get<double>(), 0);
}

// Every rank runs the sum as often as the others, whatever the ranks take for their products.
TEST(KernelProbes, AProductRunsBesideASumOverAllRanks) {
  testing::Ranks ranks(2, testing::Words("overlap --kinds all_reduce --sizes 64KiB --shapes "
                                         "64x64x64 --dtypes fp32 --device=host --max-samples=5"));
  for (const int rank : {1, 0}) {
    const Outcome run = ranks.Wait(rank);
    ASSERT_EQ(run.code, 0) << run.err;
    if (rank != 0) continue;
    const std::vector<Json> records = run.Records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0]["samples"], 5);
    EXPECT_GT(records[0]["collective_seconds"].get<double>(), 0);
    EXPECT_GE(records[0]["median"].get<double>(), 0);
  }
}

// Each pass of a dense step, and attention, run in fp32 and say how fast.
TEST(KernelProbes, TheHostRunsADenseStepsKernels) {
  for (const char* probe :
       {"elementwise --dtypes fp32 --shapes 8x256 --names rms_norm,rms_norm_residual,"
        "rms_norm_backward,layer_norm,layer_norm_residual,layer_norm_backward,rotary,swiglu,"
        "swiglu_backward,gelu,gelu_backward,cross_entropy,cross_entropy_backward,embedding,"
        "embedding_backward,adamw,gradient_norm",
        "attention --dtypes fp32 --shapes 1x4x2x32x16"}) {
    const Outcome run = RunProbe(std::string(probe) + kQuick);
    ASSERT_EQ(run.code, 0) << run.err;
    const std::vector<Json> records = run.Records();
    EXPECT_EQ(records.size(), std::string(probe).starts_with("attention") ? 2u : 17u);
    for (const Json& record : records) EXPECT_GT(record["median"].get<double>(), 0) << record;
  }
}

TEST(KernelProbes, SayWhatTheHostLacks) {
  for (const char* probe :
       {"elementwise --names rotary --shapes 2x256 --dtypes bf16",
        "elementwise --names top_k --shapes 2x256 --dtypes fp32", "memory --patterns shared",
        "attention --shapes 1x2x1x8x4 --dtypes bf16"}) {
    const Outcome run = RunProbe(std::string(probe) + kQuick);
    EXPECT_THAT(run.err, ::testing::HasSubstr("the host device has no")) << probe;
  }
}
}  // namespace
}  // namespace shardplan::probe
