// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "probe/host/host_stream.h"
#include "probe/measure.h"
#include "probe/watch.h"

namespace shardplan::probe {
namespace {

class HostDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = OpenDevice("host", 0, watch_);
    if (!opened) GTEST_SKIP() << opened.error().message;
    device_ = std::move(*opened);
    stream_ = *device_->MakeStream();
  }
  Watch watch_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(HostDeviceTest, WrongElementsAreCounted) {
  for (const std::string& name : DtypeNames()) {
    const Dtype dtype = *DtypeOf(name);
    const Pattern pattern{3, LargestExact(dtype), 2};
    const Span span{.begin = 5, .count = 100, .source = kSumOfAll, .offset = 11};
    const Buffer buffer = *device_->Allocate(105 * SizeOf(dtype));
    ASSERT_TRUE(device_->Fill(buffer.at(), dtype, pattern, span, *stream_));
    EXPECT_EQ(*device_->CountWrong(buffer.at(), dtype, pattern, span, *stream_), 0) << name;
    for (const std::size_t index : {5u, 50u, 104u}) {
      const double value = Load(dtype, buffer.at(), index);
      Store(dtype, buffer.at(), index, value == 0 ? 1 : 0);
    }
    EXPECT_EQ(*device_->CountWrong(buffer.at(), dtype, pattern, span, *stream_), 3) << name;
  }
}

TEST_F(HostDeviceTest, MemoryIsCountedAndGivenBack) {
  {
    const Buffer buffer = *device_->Allocate(1 << 20);
    EXPECT_EQ(device_->Memory().ours, 1u << 20);
  }
  EXPECT_EQ(device_->Memory().ours, 0u);
  const auto refused = device_->Allocate(std::size_t{1} << 50);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_EQ(device_->Memory().refused, std::size_t{1} << 50);
}

// Clocks and caches settle under the work itself, for as long as was asked.
TEST_F(HostDeviceTest, WarmingUpLastsAsLongAsAsked) {
  const auto runs_with = [&](Seconds time) {
    int runs = 0;
    const Work work = [&runs](Stream&) -> Result<void> {
      ++runs;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return {};
    };
    MeasureOptions options{.rule = {.min_samples = 1, .max_samples = 1}, .warm_up_time = time};
    EXPECT_TRUE(Measure(*device_, *stream_, work, options));
    return runs;
  };
  EXPECT_LE(runs_with({}), 5);
  // The host's stream does not wait for a work that enqueues nothing: what counts is what the
  // events between runs saw.
  EXPECT_GE(runs_with({0.05}), 10);
}

TEST_F(HostDeviceTest, AStreamRunsInOrderAndWaitsForEvents) {
  const Buffer a = *device_->Allocate(64 << 20), b = *device_->Allocate(64 << 20);
  const auto other = *device_->MakeStream();
  ASSERT_TRUE(device_->Copy(b.at(), a.at(), a.bytes, *stream_));
  const auto copied = *stream_->Record();
  ASSERT_TRUE(other->After(copied));
  const auto after = *other->Record();
  ASSERT_TRUE(other->Wait());
  EXPECT_GE(device_->Between(*copied, *after)->value, 0);
}

TEST_F(HostDeviceTest, ACancelledWatchEndsAWaitForWhatNeverCame) {
  const auto never = std::make_shared<HostEvent>();
  ASSERT_TRUE(stream_->After(never));
  watch_.Cancel({Code::kAborted, "rank 3 died"});
  const auto waited = stream_->Wait();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().message, "rank 3 died");
}

TEST_F(HostDeviceTest, MeasuringStopsByTheRule) {
  const Work nothing = *device_->Nothing();
  MeasureOptions options;
  options.rule = {.relative_error = 0, .time_limit = {100}, .min_samples = 3, .max_samples = 7};
  const auto summary = Measure(*device_, *stream_, nothing, options);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->samples, 7);
  EXPECT_EQ(summary->stop, Stop::kMaxSamples);
  EXPECT_GT(summary->median, 0);
}
}  // namespace
}  // namespace shardplan::probe
