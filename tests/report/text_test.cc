// SPDX-License-Identifier: Apache-2.0
#include "planner/report/text.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {
using namespace shardplan::literals;

TEST(Text, BytesAreInTheUnitThatTheyReach) {
  EXPECT_EQ(FormatBytes({0}), "0 B");
  EXPECT_EQ(FormatBytes({512}), "512 B");
  EXPECT_EQ(FormatBytes({1536}), "1.50 KiB");
  EXPECT_EQ(FormatBytes({85520809984.0}), "79.6 GiB");
  EXPECT_EQ(FormatBytes(1_GiB * 274.7), "274.7 GiB");
  EXPECT_EQ(FormatBytes(1_GiB * 1454), "1.42 TiB");
  EXPECT_EQ(FormatBytes(-1_GiB), "-1.00 GiB");
}

TEST(Text, TimesAreInTheUnitThatTheyReach) {
  EXPECT_EQ(FormatSeconds({0}), "0 s");
  EXPECT_EQ(FormatSeconds(8_us), "8.00 us");
  EXPECT_EQ(FormatSeconds({0.0123}), "12.3 ms");
  EXPECT_EQ(FormatSeconds({4.314}), "4.31 s");
  EXPECT_EQ(FormatSeconds({127.4}), "127 s");
  EXPECT_EQ(FormatSeconds({3.2 * 3600}), "3.2 h");
  EXPECT_EQ(FormatSeconds({350.1 * 86400}), "350.1 days");
}

TEST(Text, NumbersAreGroupedAndRounded) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(142080), "142,080");
  EXPECT_EQ(FormatCount(-1234567), "-1,234,567");
  EXPECT_EQ(FormatFigure(8.0749), "8.07");
  EXPECT_EQ(FormatFigure(1294.2), "1,294");
  EXPECT_EQ(FormatScaled(70553706496), "70.6 B");
  EXPECT_EQ(FormatScaled(512), "512");
  EXPECT_EQ(FormatPercent(0.0612), "6.1%");
  EXPECT_EQ(FormatPercent(0.4567), "46%");
  EXPECT_EQ(FormatBandwidth({381e9}), "381 GB/s");
}

TEST(Text, MessageSizesAreExact) {
  EXPECT_EQ(FormatMessageSize({1024}), "1 KiB");
  EXPECT_EQ(FormatMessageSize(64_MiB), "64 MiB");
  EXPECT_EQ(FormatMessageSize({1536}), "1,536 B");
  EXPECT_EQ(FormatMessageSize({1000}), "1,000 B");
}

TEST(Text, BarsFillWhatTheDeviceCanShow) {
  EXPECT_EQ(Bar(0.5, 10, {.unicode = false}), "#####");
  EXPECT_EQ(Bar(0.5, 10, {.unicode = true}), "█████");
  EXPECT_EQ(Bar(0.55, 10, {.unicode = true}), "█████▌");
  EXPECT_EQ(Bar(7, 3, {.unicode = false}), "###");
  EXPECT_EQ(Bar(-1, 3, {.unicode = true}), "");
}

TEST(Table, AlignsColumnsAndLeavesOutEmptyOnes) {
  Table table({{"name", Table::Align::kLeft}, {"count"}, {"never"}, {"note", Table::Align::kLeft}});
  table.Add({"a", "1", "", "x"});
  table.Add({"µ-long", "1,000", "", ""});
  EXPECT_EQ(table.Print({}),
            " name    count  note\n"
            " a           1  x\n"
            " µ-long  1,000\n");
}

TEST(Table, ColoursLinesOnlyWhereAsked) {
  Table table({{"n"}});
  table.Add({"1"}, Tone::kBold);
  EXPECT_EQ(table.Print({}), " n\n 1\n");
  EXPECT_EQ(table.Print({.color = true}), "\033[2m n\033[0m\n\033[1m 1\033[0m\n");
}
}  // namespace
}  // namespace shardplan
