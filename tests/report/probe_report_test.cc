// SPDX-License-Identifier: Apache-2.0
#include "planner/report/probe_report.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

Json RecordOf(const char* text) {
  Json record = Json::parse(text);
  record["machine"] = {
      {"host", "gpu-07"}, {"device", "cuda"}, {"gpu", "NVIDIA H200"}, {"nccl", "2.28.9"}};
  return record;
}

TEST(ProbeReport, PutsBothPlacesOfASizeInOneLine) {
  const std::string text = ProbeReport(
      {RecordOf(R"({"probe":"collectives","params":{"op":"all_reduce","ranks":8,"stride":1,
        "bytes":1048576,"dtype":"bf16","in_place":false},"median":5e-5,"check":"ok","count":524288,
        "algbw":2.1e10,"busbw":3.7e10,"nccl_predicted":4e-5})"),
       RecordOf(R"({"probe":"collectives","params":{"op":"all_reduce","ranks":8,"stride":1,
        "bytes":1048576,"dtype":"bf16","in_place":true},"median":4.5e-5,"check":"3 wrong",
        "count":524288,"algbw":2.3e10,"busbw":4.1e10})"),
       RecordOf(R"({"probe":"collectives","params":{"op":"broadcast","ranks":8,"stride":1,
        "bytes":1024,"dtype":"fp32","in_place":false,"root":2},"median":1e-5,"check":"none",
        "count":256,"algbw":1e8,"busbw":1e8})")},
      {});
  EXPECT_EQ(
      text,
      "measured on gpu-07, NVIDIA H200, nccl 2.28.9\n"
      " op          ranks  stride  size(B)   count  type  redop  root  time(us)  algbw(GB/s)  "
      "busbw(GB/s)  #wrong  in place: time(us)  algbw(GB/s)  busbw(GB/s)  #wrong  NCCL "
      "predicts(us)\n"
      " all_reduce      8       1  1048576  524288  bf16  sum      -1     50.00        21.00  "
      "      37.00       0               45.00        23.00        41.00       3              "
      "40.00\n"
      " broadcast       8       1     1024     256  fp32  none      2     10.00         0.10  "
      "       0.10     N/A                 N/A          N/A          N/A     N/A\n"
      "# Out of bounds values : 3 FAILED\n# Avg bus bandwidth    : 26.0333\n");
}

TEST(ProbeReport, ShowsOtherProbesByTheirParameters) {
  const std::string text = ProbeReport(
      {RecordOf(R"({"probe":"gemm","params":{"m":64,"n":32,"k":16,"dtype":"bf16"},
        "metric":"seconds","unit":"s","median":2e-6,"p10":1.9e-6,"p90":2.2e-6,"samples":20,
        "outliers":1,"check":"none","flops_per_second":3.2768e10})"),
       RecordOf(R"({"probe":"gemm","params":{"m":1},"metric":"failed_allocation","unit":"B",
        "median":1073741824,"p10":1073741824,"p90":1073741824,"samples":1,"outliers":0,
        "check":"none","error":"out of GPU memory"})")},
      {});
  EXPECT_EQ(
      text,
      "measured on gpu-07, NVIDIA H200, nccl 2.28.9\n"
      " probe  parameters                    metric               median       p10       p90  "
      "samples  outliers  check  note\n"
      " gemm   m 64, n 32, k 16, dtype bf16  seconds             2.00 us   1.90 us   2.20 us  "
      "     20         1  none   32.8 GFLOP/s\n"
      " gemm   m 1                           failed_allocation  1.00 GiB  1.00 GiB  1.00 GiB  "
      "      1         0  none   out of GPU memory\n");
}

TEST(ProbeReport, OfNothingIsNothing) { EXPECT_EQ(ProbeReport({}, {}), ""); }
}  // namespace
}  // namespace shardplan
