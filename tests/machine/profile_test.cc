// SPDX-License-Identifier: Apache-2.0
#include "planner/machine/profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "tests/machine/machines.h"

namespace shardplan {
namespace {

const auto kPredicted = [](Bytes bytes) { return Seconds{1e-5 + bytes.value / 10e9}; };

TEST(MeasuredCurve, IsTheMeasurementAtMeasuredSizesWhateverTheirOrder) {
  MeasuredCurve curve;
  curve.Add({4e6}, {3e-3});
  curve.Add({1e3}, {1e-4});
  curve.Add({64e3}, {2e-4});
  EXPECT_DOUBLE_EQ(curve.At({1e3}, kPredicted).value, 1e-4);
  EXPECT_DOUBLE_EQ(curve.At({64e3}, kPredicted).value, 2e-4);
  EXPECT_DOUBLE_EQ(curve.At({4e6}, kPredicted).value, 3e-3);
}

// A latency and a bandwidth are found whatever two sizes were measured.
TEST(MeasuredCurve, ALineIsALineBetween) {
  const auto truth = [](double bytes) { return 5e-5 + bytes / 2e9; };
  MeasuredCurve curve;
  for (const double bytes : {1e4, 1e6, 1e8}) curve.Add({bytes}, {truth(bytes)});
  for (double bytes = 1e4; bytes < 1e8; bytes *= 1.37)
    EXPECT_NEAR(curve.At({bytes}, kPredicted).value / truth(bytes), 1, 1e-9) << bytes;
}

TEST(MeasuredCurve, BeyondMeasuredSizesThePredictionIsScaled) {
  MeasuredCurve curve;
  curve.Add({1e6}, kPredicted({1e6}) * 3);
  curve.Add({2e6}, kPredicted({2e6}) * 2);
  EXPECT_DOUBLE_EQ(curve.At({1e3}, kPredicted).value, kPredicted({1e3}).value * 3);
  EXPECT_DOUBLE_EQ(curve.At({1e9}, kPredicted).value, kPredicted({1e9}).value * 2);
}

TEST(MeasuredCurve, IsMonotoneThoughMeasurementsAreNot) {
  MeasuredCurve curve;
  for (const auto& [bytes, time] : {std::pair(1e3, 2e-4), {1e4, 1e-4}, {1e5, 5e-4}, {1e6, 4e-4}})
    curve.Add({bytes}, {time});
  double last = 0;
  for (double bytes = 10; bytes < 1e8; bytes *= 1.1) {
    const double time = curve.At({bytes}, kPredicted).value;
    EXPECT_GE(time, last) << bytes;
    last = time;
  }
}

TEST(Correction, OfNothingIsOne) { EXPECT_EQ(Correction().At({1, 2, 3}), 1); }

TEST(Correction, IsExactWhereMeasuredAndBetweenItsNeighboursElsewhere) {
  Correction correction;
  correction.Add({0, 0, 0}, 1.5);
  correction.Add({10, 0, 0}, 0.5);
  EXPECT_DOUBLE_EQ(correction.At({0, 0, 0}), 1.5);
  EXPECT_DOUBLE_EQ(correction.At({10, 0, 0}), 0.5);
  EXPECT_NEAR(correction.At({5, 0, 0}), std::sqrt(1.5 * 0.5), 1e-12);
  EXPECT_NEAR(correction.At({1, 0, 0}), 1.5, 0.01) << "near shapes decide";
  for (double x = -50; x <= 50; x += 1.7) {
    EXPECT_LE(correction.At({x, 3, -2}), 1.5);
    EXPECT_GE(correction.At({x, 3, -2}), 0.5);
  }
}

// Only the group and operation that were measured change.
TEST(Profile, ReplacesPredictionsOfTheGroupThatWasMeasured) {
  Machine machine = DgxH100();
  const Communicator before(machine, {8, 1});
  CollectiveProfile profile;
  MeasuredCurve& curve = profile.curves[{Collective::kAllReduce, 8, 1}];
  curve.Add(1_MiB, {1e-3});
  curve.Add(64_MiB, {2e-3});
  machine.profile = std::make_shared<CollectiveProfile>(profile);
  const Communicator after(machine, {8, 1});
  EXPECT_TRUE(after.Measured(Collective::kAllReduce));
  EXPECT_DOUBLE_EQ(after.Time(Collective::kAllReduce, 64_MiB).value, 2e-3);
  EXPECT_FALSE(after.Measured(Collective::kAllGather));
  EXPECT_EQ(after.Time(Collective::kAllGather, 64_MiB),
            before.Time(Collective::kAllGather, 64_MiB));
  EXPECT_FALSE(Communicator(machine, {4, 1}).Measured(Collective::kAllReduce));
  EXPECT_FALSE(Communicator(machine, {4, 2}).Measured(Collective::kAllReduce));
}
}  // namespace
}  // namespace shardplan
