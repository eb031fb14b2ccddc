// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/kernel_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/cost/kernel_correction.h"

namespace shardplan {
namespace {

// The output tile that cuBLAS's large kernels compute per SM: 128 x 256 with Hopper's warp-group
// instructions and on Blackwell, 128 x 128 before (CUTLASS's default configurations).
double TileColumns(const Gpu& gpu) {
  return gpu.architecture == Architecture::kHopper || gpu.architecture == Architecture::kBlackwell
             ? 256
             : 128;
}

// Share of the GPU that whole waves of whole tiles keep busy. cuBLAS picks smaller tiles or splits
// k where a wave or a tile would be mostly empty, so half of the quantization loss is felt.
double WaveEfficiency(const Gpu& gpu, double m, double n) {
  const double exact = m / 128 * (n / TileColumns(gpu));
  const double tiles = std::ceil(m / 128) * std::ceil(n / TileColumns(gpu));
  const double full = exact / (std::ceil(tiles / gpu.sm_count) * gpu.sm_count);
  return 0.5 + 0.5 * full;
}

// Filling and draining a tile's pipeline costs about as much as 160 steps of k: products with
// n = k = 768 and 2048 reach 424 and 435 TFLOP/s on an H200 where 8192 reaches 785.
constexpr double kFillSteps = 160;
// fp32 products do not run into the power limit.
constexpr double kFp32Sustained = 0.9;

// FLOP/s that a generation of flash attention does not exceed, whatever the tensor cores could do.
// Version 1 without wgmma or its successor's work split: MPT at 32k and 64k tokens spends its time
// at 125 (A100) and 195 TFLOP/s (H100), forward and backward (llm-foundry's tables).
double KernelRate(const Gpu& gpu, FlashKernel kernel) {
  const bool newer =
      gpu.architecture == Architecture::kHopper || gpu.architecture == Architecture::kBlackwell;
  switch (kernel) {
    case FlashKernel::kNewest:
      return std::numeric_limits<double>::infinity();
    case FlashKernel::kVersion2:
      return newer ? 350e12 : std::numeric_limits<double>::infinity();
    case FlashKernel::kVersion1:
      return newer ? 215e12 : 137e12;
  }
  return 0;
}

Seconds PlainStreamTime(const Gpu& gpu, Bytes bytes, double efficiency) {
  return bytes / (gpu.memory_bandwidth * (gpu.memory_efficiency * efficiency));
}

// What measurements of such kernels say beside the prediction; 1 without any.
template <class Kind>
double Factor(const std::map<Kind, Correction>& by_kind, const Kind& kind,
              const Correction::Shape& shape) {
  const auto found = by_kind.find(kind);
  return found == by_kind.end() ? 1 : found->second.At(shape);
}

Seconds PlainFlashTime(const Gpu& gpu, Number number, Flops flops, double head_dim, double keys,
                       FlashKernel kernel) {
  if (flops.value <= 0) return {};
  // 8-bit products do not change attention.
  const bool wide = number == Number::kFp32 || number == Number::kTf32;
  const FlopsPerSecond peak =
      wide ? Max(PeakOf(gpu, number), gpu.fp32) : PeakOf(gpu, Number::kBf16);
  // A head dimension of 64 leaves the tensor cores waiting for the exponentials; short sequences
  // for the first and last blocks: 215 (d 64, 1k) to 648 TFLOP/s (d 128, 16k) on one H200.
  const double full_width = head_dim >= 96 ? 1.0 : head_dim >= 64 ? 0.72 : 0.5;
  const double length = keys / (keys + 600);
  // The fp32 kernel is not tuned as flash attention is.
  const double cap = wide ? 0.4 : KernelRate(gpu, kernel) / peak.value;
  const double efficiency = std::min(gpu.attention_efficiency, cap);
  // An older kernel's tensor cores wait less for the exponentials.
  const double width = std::pow(full_width, efficiency / gpu.attention_efficiency);
  const FlopsPerSecond rate = peak * (efficiency * PowerFactor(gpu) * width * length);
  return flops / rate + gpu.launch;
}

// What measurements of such attention say beside the prediction; 1 without any. A profile measures
// the newest kernel.
double FlashFactor(const Gpu& gpu, Correction KernelProfile::*pass, Flops flops, double head_dim,
                   double keys, FlashKernel kernel) {
  if (!gpu.profile || kernel != FlashKernel::kNewest || flops.value <= 0) return 1;
  return ((*gpu.profile).*pass).At(FlashShape(flops.value, head_dim, keys));
}

// The backward's five products run at about 0.85 of the rate of the forward's two (H200: 3.0 times
// the forward).
constexpr double kFlashBackward = 2.5 / 0.85;
}  // namespace

FlopsPerSecond PeakOf(const Gpu& gpu, Number number) {
  switch (number) {
    case Number::kFp32:
      return gpu.fp32;
    case Number::kTf32:
      return gpu.tf32.value > 0 ? gpu.tf32 : gpu.fp32;
    case Number::kFp16:
      return gpu.fp16;
    case Number::kBf16:
      return gpu.bf16.value > 0 ? gpu.bf16 : gpu.fp16;
    case Number::kFp8:
      return gpu.fp8.value > 0 ? gpu.fp8 : gpu.bf16;
    case Number::kFp4:
      return gpu.fp4.value > 0 ? gpu.fp4 : gpu.fp8.value > 0 ? gpu.fp8 : gpu.bf16;
  }
  return gpu.fp32;
}

double PowerFactor(const Gpu& gpu) {
  if (gpu.power_limit_watts <= 0 || gpu.tdp_watts <= 0 || gpu.power_limit_watts >= gpu.tdp_watts)
    return 1;
  // Dynamic power goes with f * V^2 and V nearly with f, above a static share: f ~ P^0.6.
  return std::pow(gpu.power_limit_watts / gpu.tdp_watts, 0.6);
}

Seconds GemmTime(const Gpu& gpu, Number number, double m, double n, double k, double batch) {
  if (m <= 0 || n <= 0 || k <= 0 || batch <= 0) return {};
  const bool narrow = number == Number::kFp8 || number == Number::kFp4;
  const double sustained = number == Number::kFp32 ? kFp32Sustained
                           : narrow                ? gpu.fp8_gemm_efficiency
                                                   : gpu.gemm_efficiency;
  // 16-bit tensor cores want dimensions in multiples of 8 elements (cuBLAS); others run on slower
  // kernels.
  const auto aligned = [](double x) { return x == std::floor(x / 8) * 8; };
  const bool misfit = number != Number::kFp32 && !(aligned(n) && aligned(k));
  const double ramp = k / (k + kFillSteps) * (misfit ? 0.4 : 1.0);
  FlopsPerSecond sustained_rate = PeakOf(gpu, number) * sustained;
  // The library falls back to fp32 units where tf32 ones are slower or missing.
  if (number == Number::kTf32) sustained_rate = Max(sustained_rate, gpu.fp32 * kFp32Sustained);
  const FlopsPerSecond rate =
      sustained_rate * (PowerFactor(gpu) * WaveEfficiency(gpu, m, n * batch) * ramp);
  const double width = number == Number::kFp32 || number == Number::kTf32 ? 4 : 2;
  const Bytes traffic{width * batch * (m * k + k * n + m * n)};
  const Seconds compute = Flops{2 * batch * m * n * k} / rate;
  const Seconds plain = Max(compute, PlainStreamTime(gpu, traffic, 1)) + gpu.launch;
  if (!gpu.profile) return plain;
  return plain * Factor(gpu.profile->gemm, number, GemmShape(m, n, k, batch));
}

Seconds FlashTime(const Gpu& gpu, Number number, Flops flops, double head_dim, double keys,
                  FlashKernel kernel) {
  return PlainFlashTime(gpu, number, flops, head_dim, keys, kernel) *
         FlashFactor(gpu, &KernelProfile::attention, flops, head_dim, keys, kernel);
}

Seconds FlashBackwardTime(const Gpu& gpu, Number number, Flops flops, double head_dim, double keys,
                          FlashKernel kernel) {
  return PlainFlashTime(gpu, number, flops, head_dim, keys, kernel) *
         (kFlashBackward *
          FlashFactor(gpu, &KernelProfile::attention_backward, flops, head_dim, keys, kernel));
}

Seconds MemoryPassTime(const Gpu& gpu, const std::string& name, Bytes bytes, double width) {
  const Seconds plain = PlainStreamTime(gpu, bytes, 1) + gpu.launch;
  if (!gpu.profile) return plain;
  return plain * Factor(gpu.profile->passes, name, PassShape(bytes, width));
}

Seconds StreamTime(const Gpu& gpu, Bytes bytes, double efficiency) {
  const bool measured = gpu.profile && bytes.value > 0;
  const double factor = measured ? gpu.profile->stream.At(StreamShape(bytes)) : 1;
  return PlainStreamTime(gpu, bytes, efficiency) * factor;
}
}  // namespace shardplan
