// SPDX-License-Identifier: Apache-2.0
// What the search pays per group and per question.
#include <benchmark/benchmark.h>

#include "planner/machine/collective.h"
#include "planner/machine/network.h"

namespace shardplan {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): they hold literals alone

Machine DgxH100(int nodes) {
  Machine machine;
  machine.nodes = nodes;
  machine.gpu.architecture = Architecture::kHopper;
  machine.gpu.nvlinks = 18;
  machine.scale_up = {
      .kind = "nvlink4", .fabric = Fabric::kSwitch, .bandwidth = 450_GBps, .latency = 1_us};
  machine.scale_out = NetworkOf("infiniband", 8, 50_GBps);
  return machine;
}

void ConstructInsideNode(benchmark::State& state) {
  const Machine machine = DgxH100(16);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(Communicator(machine, {.ranks = 8}));
}
BENCHMARK(ConstructInsideNode);

void ConstructAcrossNodes(benchmark::State& state) {
  const Machine machine = DgxH100(16);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(Communicator(machine, {.ranks = 16, .stride = 8}));
}
BENCHMARK(ConstructAcrossNodes);

void AskForTime(benchmark::State& state) {
  const Communicator communicator(DgxH100(16), {.ranks = 128});
  double bytes = 1000;
  for ([[maybe_unused]] auto _ : state) {
    bytes = bytes > 1e10 ? 1000 : bytes * 1.37;
    benchmark::DoNotOptimize(communicator.Time(Collective::kAllReduce, {bytes}));
  }
}
BENCHMARK(AskForTime);
}  // namespace
}  // namespace shardplan
