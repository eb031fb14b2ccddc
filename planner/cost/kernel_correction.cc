// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/kernel_correction.h"

#include <cmath>

#include "planner/cost/kernel_time.h"

namespace shardplan {

// The output decides tiles and waves, k the pipeline's fill.
Correction::Shape GemmShape(double m, double n, double k, double batch) {
  return {std::log(m * batch), std::log(n), std::log(k)};
}
Correction::Shape FlashShape(double flops, double head_dim, double keys) {
  return {std::log(flops) / 2, std::log(head_dim), std::log(keys)};
}
Correction::Shape StreamShape(Bytes bytes) { return {std::log(bytes.value), 0, 0}; }

std::shared_ptr<const KernelProfile> CorrectionsOf(Gpu gpu, const KernelMeasurements& measured) {
  if (measured.gemms.empty() && measured.attentions.empty() && measured.streams.empty())
    return nullptr;
  gpu.profile = nullptr;  // predictions alone
  const auto profile = std::make_shared<KernelProfile>();
  for (const MeasuredGemm& one : measured.gemms)
    profile->gemm[one.number].Add(
        GemmShape(one.m, one.n, one.k, one.batch),
        one.time / GemmTime(gpu, one.number, one.m, one.n, one.k, one.batch));
  for (const MeasuredAttention& one : measured.attentions) {
    // A causal kernel skips the half of the scores that is masked.
    const double seen = one.causal ? 0.5 : 1;
    const double flops = 4 * one.batch * one.heads * one.seq * one.seq * one.head_dim * seen;
    const Seconds predicted =
        FlashTime(gpu, one.number, {flops}, one.head_dim, one.seq, FlashKernel::kNewest);
    profile->attention.Add(FlashShape(flops, one.head_dim, one.seq), one.time / predicted);
  }
  for (const MeasuredStream& one : measured.streams)
    profile->stream.Add(StreamShape(one.bytes), one.time / StreamTime(gpu, one.bytes));
  return profile;
}
}  // namespace shardplan
