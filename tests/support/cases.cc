// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cases.h"

#include <vector>

namespace shardplan::testing {
using namespace shardplan::literals;

Model TinyLlama() {
  return BuildDecoder({.name = "tinyllama",
                       .family = "llama",
                       .hidden = 2048,
                       .layers = 22,
                       .vocab = 32000,
                       .max_positions = 2048,
                       .heads = 32,
                       .kv_heads = 4,
                       .head_dim = 64,
                       .ffn = 5632});
}

Model Llama70b() {
  return BuildDecoder({.name = "llama-70b",
                       .family = "llama",
                       .hidden = 8192,
                       .layers = 80,
                       .vocab = 128256,
                       .max_positions = 8192,
                       .heads = 64,
                       .kv_heads = 8,
                       .head_dim = 128,
                       .ffn = 28672});
}

Model Mixtral() {
  return BuildDecoder({.name = "mixtral",
                       .family = "mixtral",
                       .hidden = 4096,
                       .layers = 32,
                       .vocab = 32000,
                       .max_positions = 32768,
                       .heads = 32,
                       .kv_heads = 8,
                       .head_dim = 128,
                       .moe = std::vector<char>(32, 1),
                       .ffn = 14336,
                       .experts = 8,
                       .top_k = 2,
                       .expert_ffn = 14336});
}

Machine H200(int nodes, int gpus_per_node) {
  Machine machine{.name = "h200",
                  .nodes = nodes,
                  .gpus_per_node = gpus_per_node,
                  .scale_up_domain = gpus_per_node};
  machine.gpu = {.name = "h200-sxm",
                 .architecture = Architecture::kHopper,
                 .memory = 143771_MiB,
                 .memory_bandwidth = 4800_GBps,
                 .fp32 = 67_TFLOPps,
                 .tf32 = 494_TFLOPps,
                 .fp16 = 989_TFLOPps,
                 .bf16 = 989_TFLOPps,
                 .fp8 = 1979_TFLOPps,
                 .sm_count = 132,
                 .tdp_watts = 700,
                 .nvlinks = 18};
  machine.scale_up = {.kind = "nvlink4", .fabric = Fabric::kSwitch, .bandwidth = 450_GBps};
  machine.scale_out = {.kind = "infiniband", .nics = 8, .rate = 50_GBps};
  machine.host = {.memory = {2e12}, .memory_bandwidth = 600_GBps, .gpu_link = 55_GBps};
  return machine;
}

Machine DgxH100(int nodes) {
  Machine machine = H200(nodes, 8);
  machine.name = "dgx-h100";
  machine.gpu.name = "h100-sxm-80gb";
  machine.gpu.memory = 81559_MiB;
  machine.gpu.memory_bandwidth = 3350_GBps;
  return machine;
}

Machine DgxA100(int nodes) {
  Machine machine = DgxH100(nodes);
  machine.name = "dgx-a100";
  machine.gpu = {.name = "a100-sxm-80gb",
                 .architecture = Architecture::kAmpere,
                 .memory = 81920_MiB,
                 .memory_bandwidth = 2039_GBps,
                 .fp32 = {19.5e12},
                 .tf32 = 156_TFLOPps,
                 .fp16 = 312_TFLOPps,
                 .bf16 = 312_TFLOPps,
                 .sm_count = 108,
                 .tdp_watts = 400,
                 .nvlinks = 12};
  machine.scale_up = {.kind = "nvlink3", .fabric = Fabric::kSwitch, .bandwidth = 300_GBps};
  machine.scale_out = {.kind = "infiniband", .nics = 8, .rate = 25_GBps};
  return machine;
}

Plan RandomPlan(std::mt19937_64& random, const Model& model, const Machine& machine,
                const Training& training) {
  const auto pick = [&](int below) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(below));
  };
  Plan plan;
  int gpus = machine.Gpus();
  const auto power = [&](int most) {
    int value = 1;
    while (value * 2 <= most && gpus % 2 == 0 && pick(2) == 1) value *= 2, gpus /= 2;
    return value;
  };
  plan.sharding.tp = power(8);
  plan.placement.pp = power(8);
  plan.sharding.cp = power(2);
  plan.placement.dp = gpus;
  plan.sharding.sp = plan.sharding.tp > 1 && pick(2) == 1;
  if (model.facts.experts > 0)
    while (plan.sharding.ep * 2 <= model.facts.experts &&
           (plan.placement.dp * plan.sharding.cp) % (plan.sharding.ep * 2) == 0 && pick(2) == 1)
      plan.sharding.ep *= 2;
  plan.sharding.micro_batch_size = 1 << pick(3);
  plan.placement.microbatches =
      std::max(1, static_cast<int>(training.global_batch_size /
                                   (plan.placement.dp * plan.sharding.micro_batch_size)));
  plan.sharding.recompute.kind = static_cast<RecomputeKind>(pick(3));
  if (plan.placement.pp > 1) {
    const int kind = pick(3);
    plan.placement.schedule = kind == 0   ? Schedule::kGpipe
                              : kind == 1 ? Schedule::k1F1B
                                          : Schedule::kInterleaved;
    if (kind == 2) plan.placement.vpp = 2;
    // Uneven on purpose: what the first stages lack the last ones have.
    std::vector<int> layers(static_cast<std::size_t>(plan.placement.pp),
                            model.facts.layers / plan.placement.pp);
    layers.back() += model.facts.layers % plan.placement.pp;
    if (layers[0] > 1) --layers[0], ++layers[layers.size() / 2];
    plan.placement.stage_layers = layers;
  }
  plan.policy.zero_stage = pick(4);
  plan.policy.overlap = {.grad_reduce = pick(2) == 1,
                         .param_gather = pick(2) == 1,
                         .tp = pick(4) == 0,
                         .p2p = true,
                         .moe = pick(4) == 0};
  plan.policy.offload = static_cast<Offload>(pick(4));
  return plan;
}
}  // namespace shardplan::testing
