// SPDX-License-Identifier: Apache-2.0
// An H200's profile against what it did not measure (tests/evidence/kernels).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "planner/cost/kernel_time.h"
#include "planner/spec/catalogue.h"
#include "planner/spec/problem.h"
#include "planner/spec/profile_reader.h"
#include "tests/evidence/judge.h"
#include "tests/evidence/statistics.h"

namespace shardplan::evidence {
namespace {

constexpr char kFolder[] = SHARDPLAN_SOURCE_DIR "/tests/evidence/";
std::string ProfilePath() { return std::string(kFolder) + "kernels/h200-profile.jsonl"; }

Measurements Read(const std::string& path) {
  const Result<SourcePtr> source = ReadSource(path, {});
  if (!source) throw std::runtime_error(source.error().message);
  const Result<std::vector<Json>> records = ReadRecords(*source);
  if (!records) throw std::runtime_error(records.error().message);
  return MeasurementsOf(*records);
}

class KernelsOfAnH200 : public ::testing::Test {
 protected:
  KernelsOfAnH200()
      : held_out_(Read(std::string(kFolder) + "kernels/h200-heldout.jsonl").kernels),
        plain_(ParseProblem("cluster: {gpu: h200-sxm, nodes: 1, gpus_per_node: 1}", "spec", {},
                            Needs::kCluster)
                   ->machine),
        profiled_(plain_) {
    Apply(Read(ProfilePath()), profiled_);
  }

  // The median error with the profile, and that it is less than without.
  template <class Kernels, class Predict>
  void Expect(const Kernels& kernels, double median, Predict predict) const {
    std::vector<double> with, without;
    for (const auto& kernel : kernels) {
      with.push_back(predict(profiled_.gpu, kernel) / kernel.time - 1);
      without.push_back(predict(plain_.gpu, kernel) / kernel.time - 1);
    }
    ASSERT_GE(with.size(), 10U);
    const Errors errors = ErrorsOf(with), plain = ErrorsOf(without);
    EXPECT_LE(errors.median, median);
    RecordProperty(fmt::format("median_of_{}_percent", errors.rows),
                   fmt::format("{:.1f}", 100 * errors.median));
    EXPECT_LT(errors.median, plain.median) << "the profile should help";
  }

  KernelMeasurements held_out_;
  Machine plain_, profiled_;
};

Seconds PredictGemm(const Gpu& gpu, const MeasuredGemm& one) {
  return GemmTime(gpu, one.number, one.m, one.n, one.k, one.batch);
}

TEST_F(KernelsOfAnH200, ProductsOfOtherShapes) {
  for (const Number number : {Number::kBf16, Number::kFp16, Number::kTf32, Number::kFp8}) {
    std::vector<MeasuredGemm> gemms;
    for (const MeasuredGemm& one : held_out_.gemms)
      if (one.number == number) gemms.push_back(one);
    SCOPED_TRACE(static_cast<int>(number));
    Expect(gemms, 0.05, PredictGemm);
  }
}

TEST_F(KernelsOfAnH200, AttentionOfOtherShapes) {
  for (const bool backward : {false, true}) {
    std::vector<MeasuredAttention> attentions;
    for (const MeasuredAttention& one : held_out_.attentions)
      if (one.backward == backward) attentions.push_back(one);
    Expect(attentions, 0.05, [backward](const Gpu& gpu, const MeasuredAttention& one) {
      const double flops =
          4 * one.batch * one.heads * one.seq * one.seq * one.head_dim * (one.causal ? 0.5 : 1);
      return (backward ? FlashBackwardTime : FlashTime)(gpu, one.number, {flops}, one.head_dim,
                                                        one.seq, FlashKernel::kNewest);
    });
  }
}

TEST_F(KernelsOfAnH200, MemoryBoundPassesOfOtherShapes) {
  Expect(held_out_.passes, 0.05, [](const Gpu& gpu, const MeasuredPass& one) {
    return MemoryPassTime(gpu, one.name, one.bytes, one.width);
  });
}

// Whole steps of transformers on the same kind of GPU, which our own kernels' profile knows only
// through products, attention and streams.
TEST_F(KernelsOfAnH200, StepsOfLanguageModels) {
  Evidence evidence;
  ASSERT_TRUE(ReadSteps(std::string(kFolder) + "steps/h200.yaml", &evidence));
  std::vector<double> errors;
  for (Row& row : evidence.rows) {
    const bool several = row.spec["cluster"]["gpus_per_node"] != 1;
    if (!row.time || !row.too_little.empty() || several) continue;
    row.spec["cluster"]["profile"] = ProfilePath();
    const Judgement judgement = Judge(row);
    if (!judgement.time) continue;
    errors.push_back(judgement.time->error);
  }
  ASSERT_GE(errors.size(), 10U);
  EXPECT_LE(ErrorsOf(errors).median, 0.05);
  RecordProperty("median_percent", fmt::format("{:.1f}", 100 * ErrorsOf(errors).median));
}
}  // namespace
}  // namespace shardplan::evidence
