// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/quantity_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace shardplan {
namespace {

double Value(const char* text, Dimension dimension) {
  const ParsedNumber number = ParseNumber(text, dimension);
  EXPECT_EQ(number.fault, NumberFault::kNone) << text;
  return number.value;
}

// GB is 10^9 and GiB 2^30.
TEST(QuantityText, DecimalAndBinaryBytesDiffer) {
  EXPECT_EQ(Value("80GB", Dimension::kBytes), 80e9);
  EXPECT_EQ(Value("80GiB", Dimension::kBytes), 80.0 * (1u << 30));
  EXPECT_EQ(Value("1KiB", Dimension::kBytes), 1024);
  EXPECT_EQ(Value("1kB", Dimension::kBytes), 1000);
  EXPECT_EQ(Value("2TiB", Dimension::kBytes), 2.0 * 1024 * 1024 * 1024 * 1024);
  EXPECT_EQ(Value("81559MiB", Dimension::kBytes), 81559.0 * 1024 * 1024);
  EXPECT_EQ(Value("7B", Dimension::kBytes), 7);
}

TEST(QuantityText, ABitIsAnEighthOfAByte) {
  EXPECT_EQ(Value("400Gb/s", Dimension::kBytesPerSecond), 50e9);
  EXPECT_EQ(Value("400Gbit/s", Dimension::kBytesPerSecond), 50e9);
  EXPECT_EQ(Value("450GB/s", Dimension::kBytesPerSecond), 450e9);
  EXPECT_EQ(Value("3.35TB/s", Dimension::kBytesPerSecond), 3.35e12);
}

TEST(QuantityText, OtherUnits) {
  EXPECT_EQ(Value("989TFLOP/s", Dimension::kFlopsPerSecond), 989e12);
  EXPECT_EQ(Value("2PFLOPS", Dimension::kFlopsPerSecond), 2e15);
  EXPECT_DOUBLE_EQ(Value("3us", Dimension::kSeconds), 3e-6);
  EXPECT_DOUBLE_EQ(Value("3\xc2\xb5s", Dimension::kSeconds), 3e-6);
  EXPECT_EQ(Value("2h", Dimension::kSeconds), 7200);
  EXPECT_EQ(Value("700W", Dimension::kWatts), 700);
  EXPECT_EQ(Value("0.7kW", Dimension::kWatts), 700);
}

TEST(QuantityText, BlanksMayStandBeforeTheUnit) {
  EXPECT_EQ(Value("80 GiB", Dimension::kBytes), Value("80GiB", Dimension::kBytes));
}

TEST(QuantityText, ABareNumberIsInBaseUnits) {
  EXPECT_EQ(Value("2e12", Dimension::kBytes), 2e12);
  EXPECT_EQ(Value("1.5", Dimension::kSeconds), 1.5);
  EXPECT_EQ(Value("-3", Dimension::kNone), -3);
  EXPECT_EQ(Value(".5", Dimension::kNone), 0.5);
}

TEST(QuantityText, WhatIsNoNumber) {
  for (const char* text : {"", "GiB", "nan", ".nan", "inf", "-inf", "infinity", "one", "--1", "+1",
                           "e5", " 1", "-", "."})
    EXPECT_EQ(ParseNumber(text, Dimension::kBytes).fault, NumberFault::kNotANumber) << text;
  EXPECT_EQ(ParseNumber("1e999", Dimension::kBytes).fault, NumberFault::kNotFinite);
  EXPECT_EQ(ParseNumber("1e308PB", Dimension::kBytes).fault, NumberFault::kNotFinite);
}

TEST(QuantityText, UnitsOfAnotherDimensionAreUnknown) {
  for (const char* text : {"80Gib", "80gb", "80Gb", "1_000", "0x10", "80GiBs", "1e", "450GB/s"})
    EXPECT_EQ(ParseNumber(text, Dimension::kBytes).fault, NumberFault::kUnknownUnit) << text;
  EXPECT_EQ(ParseNumber("80GiB", Dimension::kBytesPerSecond).fault, NumberFault::kUnknownUnit);
  EXPECT_EQ(ParseNumber("3us", Dimension::kWatts).fault, NumberFault::kUnknownUnit);
}

TEST(QuantityText, WholeNumbers) {
  EXPECT_EQ(ParseWhole("1024"), 1024);
  EXPECT_EQ(ParseWhole("1e3"), 1000);
  EXPECT_EQ(ParseWhole("8.0"), 8);
  EXPECT_EQ(ParseWhole("-4"), -4);
  EXPECT_EQ(ParseWhole("9007199254740993"), 9007199254740993);
  EXPECT_EQ(ParseWhole("1e30"), INT64_MAX);
  for (const char* text : {"", "2.5", "1e-3", "8k", "eight", "1 2", "0x8", "1_000", "nan"})
    EXPECT_EQ(ParseWhole(text), std::nullopt) << text;
}

TEST(QuantityText, AMistypedUnitHasANearOne) {
  EXPECT_EQ(DidYouMeanUnit("Gib", Dimension::kBytes), "did you mean GiB? ");
  EXPECT_EQ(DidYouMeanUnit("gb/s", Dimension::kBytesPerSecond), "did you mean GB/s or Gb/s? ");
  EXPECT_EQ(DidYouMeanUnit("TFLOP", Dimension::kFlopsPerSecond),
            "did you mean TFLOP/s or TFLOPS? ");
  EXPECT_EQ(DidYouMeanUnit("bananas", Dimension::kBytes), "");
}

// What is printed is read back to the bit.
TEST(QuantityText, NumbersSurvivePrinting) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    const double value = std::ldexp(std::uniform_real_distribution<double>(0.5, 1)(random),
                                    std::uniform_int_distribution<int>(-1000, 1000)(random));
    ASSERT_EQ(Value(NumberText(value).c_str(), Dimension::kNone), value) << NumberText(value);
  }
}

}  // namespace
}  // namespace shardplan
