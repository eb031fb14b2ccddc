// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/kernel_correction.h"

#include <cmath>

#include "planner/cost/kernel_time.h"

namespace shardplan {

// The output decides tiles and waves, k the pipeline's fill.
Correction::Shape GemmShape(double m, double n, double k, double batch) {
  return {std::log(m * batch), std::log(n), std::log(k)};
}
// The FLOPs over those of one head tell how many heads share the GPU.
Correction::Shape FlashShape(double flops, double head_dim, double keys) {
  return {std::log(flops / (head_dim * keys * keys)), std::log(head_dim), std::log(keys)};
}
Correction::Shape StreamShape(Bytes bytes) { return {std::log(bytes.value), 0, 0}; }
Correction::Shape PassShape(Bytes bytes, double width) {
  return {std::log(bytes.value), std::log(width), 0};
}

std::shared_ptr<const KernelProfile> CorrectionsOf(Gpu gpu, const KernelMeasurements& measured) {
  if (measured.gemms.empty() && measured.attentions.empty() && measured.streams.empty() &&
      measured.passes.empty())
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
    const auto predict = one.backward ? FlashBackwardTime : FlashTime;
    const Seconds predicted =
        predict(gpu, one.number, {flops}, one.head_dim, one.seq, FlashKernel::kNewest);
    Correction& correction = one.backward ? profile->attention_backward : profile->attention;
    correction.Add(FlashShape(flops, one.head_dim, one.seq), one.time / predicted);
  }
  for (const MeasuredStream& one : measured.streams)
    profile->stream.Add(StreamShape(one.bytes), one.time / StreamTime(gpu, one.bytes));
  for (const MeasuredPass& one : measured.passes)
    profile->passes[one.name].Add(PassShape(one.bytes, one.width),
                                  one.time / MemoryPassTime(gpu, one.name, one.bytes, one.width));
  return profile;
}
}  // namespace shardplan
