// SPDX-License-Identifier: Apache-2.0
// Time of single kernels on one GPU: matrix products, attention, memory-bound passes.
//
// Pure functions of the GPU's figures (configs/gpus) and the shape. (planner/README.md, Eq. 3-6)
#pragma once
#include <string>

#include "planner/base/quantity.h"
#include "planner/machine/machine.h"

namespace shardplan {

FlopsPerSecond PeakOf(const Gpu& gpu, Number number);
// What a power cap leaves of the sustained rate: 1 at or above the TDP.
double PowerFactor(const Gpu& gpu);
// One product of m x k by k x n, `batch` of them. Zero for an empty shape.
Seconds GemmTime(const Gpu& gpu, Number number, double m, double n, double k, double batch = 1);
// Generations of fused attention: what each leaves of a GPU's peak differs by a factor of three.
enum class FlashKernel {
  kNewest,    // cuDNN, FlashAttention-3: the GPU's attention_efficiency
  kVersion2,  // uses neither wgmma nor TMA: 350 TFLOP/s on Hopper (arXiv 2407.08608)
  kVersion1,  // and its Triton ports, which alone take a bias on the scores (ALiBi)
};
// Flash attention (in fp32 and tf32: the memory-efficient kernel), forward: `flops` executed, at
// head dimension `head_dim` over `keys` keys.
Seconds FlashTime(const Gpu& gpu, Number number, Flops flops, double head_dim, double keys,
                  FlashKernel kernel);
// Its backward, where the forward executes `flops`.
Seconds FlashBackwardTime(const Gpu& gpu, Number number, Flops flops, double head_dim, double keys,
                          FlashKernel kernel);
// One of our own memory-bound passes, named as in probe/passes.h: `bytes` at the streaming
// bandwidth where no profile knows it, over rows of `width` elements.
Seconds MemoryPassTime(const Gpu& gpu, const std::string& name, Bytes bytes, double width);
// A pass that reads and writes `bytes` in all, at `efficiency` of the streaming bandwidth.
Seconds StreamTime(const Gpu& gpu, Bytes bytes, double efficiency = 1);
}  // namespace shardplan
