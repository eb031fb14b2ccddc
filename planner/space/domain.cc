// SPDX-License-Identifier: Apache-2.0
#include "planner/space/domain.h"

#include <algorithm>

#include "planner/framework/rules.h"
#include "planner/framework/stages.h"

namespace shardplan {
namespace {
constexpr int kMostPower = 64;      // of context degrees and micro batch sizes
constexpr int kLeastTokens = 4096;  // of a context rank
constexpr int kMostVirtual = 16;

std::vector<int> Divisors(int number, int most) {
  std::vector<int> divisors;
  for (int value = 1; value <= std::min(number, most); ++value)
    if (number % value == 0) divisors.push_back(value);
  if (divisors.empty()) divisors.push_back(1);
  return divisors;
}
}  // namespace

std::vector<int> TensorDegrees(const Model& model, const Machine& machine) {
  const int domain = machine.scale_up_domain;
  return Divisors(model.facts.heads, machine.gpus_per_node < domain ? 2 * domain : domain);
}

std::vector<int> ContextDegrees(const Training& training) {
  std::vector<int> degrees = {1};
  for (int cp = 2; cp <= kMostPower && training.seq_length / cp >= kLeastTokens; cp *= 2)
    degrees.push_back(cp);
  return degrees;
}

std::vector<int> ExpertDegrees(const Model& model, const Machine& machine) {
  return Divisors(model.facts.experts, machine.Gpus());
}

std::vector<int> MicroBatchSizes(const Training& training) {
  std::vector<int> sizes;
  for (int size = 1; size <= kMostPower; size *= 2)
    if (training.global_batch_size % size == 0) sizes.push_back(size);
  return sizes;
}

std::vector<int> PipelineDegrees(const Model& model, const Machine& machine,
                                 const Framework& framework) {
  std::vector<int> degrees = {1};
  for (int pp = 2; pp <= std::min(LayersOf(model), machine.Gpus()); ++pp)
    if (machine.Gpus() % pp == 0 && !framework.split(model, pp, 1).empty()) degrees.push_back(pp);
  return degrees;
}

std::vector<int> VirtualDegrees(const Model& model, const Framework& framework, int pp) {
  std::vector<int> degrees = {1};
  if (pp == 1) return degrees;
  for (int vpp = 2; vpp <= kMostVirtual; ++vpp)
    if (!framework.split(model, pp, vpp).empty()) degrees.push_back(vpp);
  return degrees;
}

std::vector<Schedule> SchedulesOf(const Framework& framework, int pp, int vpp) {
  if (vpp > 1) return {Schedule::kInterleaved};
  if (pp > 1 && framework.zero_bubble) return {Schedule::k1F1B, Schedule::kZbH1};
  return {Schedule::k1F1B};
}

int DefaultEtp(const Model& model, const Machine& machine, const Training& training,
               const Framework& framework, int tp, int ep, int pp) {
  if (!framework.experts_follow_tensor || model.facts.experts == 0) return 1;
  const std::int64_t stage = machine.Gpus() / std::max(1, pp);
  const std::int64_t copy = std::int64_t{tp} * ep;
  // Recipes say etp 1 where experts cannot be cut so.
  if (stage % copy != 0) return 1;
  const auto breaks = [&](const Rule& rule, int etp) {
    const Sharding sharding{.tp = tp, .ep = ep, .etp = etp};
    const Placement placement;
    const Policy policy;
    return rule.broken({model, machine, training, framework, sharding, placement, policy});
  };
  for (const Rule* rule : RulesInForce(training))
    if (rule->binding == Binding::kSharding && breaks(*rule, tp) && !breaks(*rule, 1)) return 1;
  return tp;
}
}  // namespace shardplan
