// SPDX-License-Identifier: Apache-2.0
// Measured kernels beside what kernel_time.h predicts of them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "planner/machine/machine.h"
#include "planner/machine/profile.h"

namespace shardplan {

struct MeasuredGemm {
  Number number = Number::kBf16;
  double m = 0, n = 0, k = 0, batch = 1;
  Seconds time;
};
// Flash attention.
struct MeasuredAttention {
  Number number = Number::kBf16;
  bool backward = false;
  double batch = 0, heads = 0, seq = 0, head_dim = 0;
  bool causal = true;
  Seconds time;
};
// Passes over memory that read and write `bytes` in all.
struct MeasuredStream {
  Bytes bytes;
  Seconds time;
};
// A memory-bound pass, named as in probe/passes.h, that must move `bytes`.
struct MeasuredPass {
  std::string name;
  Bytes bytes;
  double width = 0;  // elements of a row
  Seconds time;
};
struct KernelMeasurements {
  std::vector<MeasuredGemm> gemms;
  std::vector<MeasuredAttention> attentions;
  std::vector<MeasuredStream> streams;
  std::vector<MeasuredPass> passes;
};

// What corrects the predictions of `gpu`; null where nothing was measured.
std::shared_ptr<const KernelProfile> CorrectionsOf(Gpu gpu, const KernelMeasurements& measured);

// Where a kernel lies among the measured ones.
Correction::Shape GemmShape(double m, double n, double k, double batch);
Correction::Shape FlashShape(double flops, double head_dim, double keys);
Correction::Shape StreamShape(Bytes bytes);
Correction::Shape PassShape(Bytes bytes, double width);
}  // namespace shardplan
