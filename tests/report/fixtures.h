// SPDX-License-Identifier: Apache-2.0
// Subjects and evaluations with made-up round numbers: reports are functions of values alone.
#pragma once
#include "planner/report/subject.h"
#include "planner/search/search.h"
#include "tests/support/cases.h"

namespace shardplan::testing {

struct Example {
  Model model = TinyLlama();
  Machine machine = DgxH100(2);
  Training training;
  Subject subject;

  Example() {
    training.framework = FrameworkId::kMegatron;
    training.framework_version = "0.14";
    training.seq_length = 2048;
    training.global_batch_size = 64;
    subject = {.title = "tinyllama",
               .model = &model,
               .machine = &machine,
               .training = &training,
               .memory_reserve = {},
               .notes = {},
               .spec_hash = "0123456789abcdef",
               .version = "0.1.0"};
  }
  Example(const Example&) = delete;
  Example& operator=(const Example&) = delete;
};

inline Plan ExamplePlan() {
  Plan plan;
  plan.sharding = {
      .tp = 4, .sp = true, .micro_batch_size = 2, .recompute = {.kind = RecomputeKind::kSelective}};
  plan.placement = {.pp = 2, .dp = 2, .microbatches = 16};
  plan.policy = {.zero_stage = 1, .overlap = {.grad_reduce = true}};
  return plan;
}

inline StageMemory ExampleStage(int stage, double gib, const char* instant) {
  using namespace literals;  // NOLINT(google-build-using-namespace)
  StageMemory memory{.stage = stage, .allocated = 1_GiB * gib, .instant = instant};
  const auto set = [&](MemoryPart part, Bytes bytes) {
    memory.parts[static_cast<std::size_t>(part)] = bytes;
  };
  set(MemoryPart::kParameters, 4_GiB);
  set(MemoryPart::kGradients, 8_GiB);
  set(MemoryPart::kOptimizerStates, 12_GiB);
  set(MemoryPart::kActivations, 1_GiB * (gib - 24));
  memory.pinned = 1_GiB * (gib + 0.5);
  memory.at_peak = {{MemoryPart::kOptimizerStates, "q_proj", "optimizer states", 12_GiB},
                    {MemoryPart::kActivations, "input_layernorm", "input", 6_GiB}};
  memory.peaks = {{"loading", 8_GiB}, {"checkpoint", 16_GiB}};
  memory.series = {{"loss", 1_GiB * (gib - 10), 1_GiB * gib},
                   {instant, 1_GiB * gib, 1_GiB * (gib + 2)}};
  return memory;
}

// A plan that takes 40 GiB and 2 s.
inline Evaluation ExampleEvaluation() {
  using namespace literals;  // NOLINT(google-build-using-namespace)
  Evaluation e;
  e.plan = ExamplePlan();
  const auto set = [&](TimePart part, double seconds) {
    e.step.time[static_cast<std::size_t>(part)] = {seconds};
  };
  set(TimePart::kCompute, 1.5);
  set(TimePart::kTensorComm, 0.25);
  set(TimePart::kPipelineBubble, 0.125);
  set(TimePart::kGradientReduce, 0.0625);
  set(TimePart::kOptimizer, 0.0625);
  e.step.allocated = 40_GiB;
  e.step.device = 46_GiB;
  e.step.unavoidable = 44_GiB;
  e.capacity = 80_GiB;
  e.peak_allocated = 40_GiB;
  e.peak_reserved = 42_GiB;
  e.peak_device = 46_GiB;
  e.memory_interval = {38_GiB, 42_GiB};
  e.time_interval = {Seconds{1.75}, Seconds{2.25}};
  e.p_oom = 0.02;
  e.stages = {ExampleStage(0, 40, "first layer backward"), ExampleStage(1, 36, "loss backward")};
  e.context = 3_GiB;
  e.nccl.Of(CommGroup::kTensor) = 1_GiB;
  e.peaks = {{"loading", 0, 8_GiB, 32_GiB, "each rank makes its own weights"},
             {"checkpoint", 1, 16_GiB, {}, "each rank writes its shard"}};
  e.tokens_per_second_per_gpu = 4096;
  e.samples_per_second = 32;
  e.model_flops_per_gpu = 400e12;
  e.hardware_flops_per_gpu = 450e12;
  e.mfu = 0.404;
  return e;
}

// The same, out of memory.
inline Evaluation ExampleOom() {
  using namespace literals;  // NOLINT(google-build-using-namespace)
  Evaluation e = ExampleEvaluation();
  e.verdict = Verdict::kOom;
  e.limit = "memory";
  e.step.unavoidable = 90_GiB;
  e.peak_device = 92_GiB;
  e.p_oom = 1;
  return e;
}
}  // namespace shardplan::testing
