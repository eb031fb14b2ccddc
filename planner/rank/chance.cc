// SPDX-License-Identifier: Apache-2.0
#include "planner/rank/chance.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>

#include "planner/cost/uncertainty.h"
#include "planner/search/score.h"

namespace shardplan {
namespace {

// Steps of one model on one machine scatter by 3 % around what shared factors explain: two repeats
// of a plan, alignment of stages, placement.
constexpr double kOwnDeviation = 0.03;
constexpr int kDraws = 2048;

// Standard normal numbers, the same on every platform (Box and Muller).
class Normal {
 public:
  double operator()() {
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }

 private:
  double Uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  std::mt19937_64 bits_{1};
};

// What turns a plan's step into the number that the objective compares.
double WeightOf(const Evaluation& evaluation, Objective objective) {
  const double gpus = objective == Objective::kCost
                          ? GpusOf(evaluation.plan.sharding, evaluation.plan.placement)
                          : 1;
  return gpus * (ExpectedTime(evaluation) / evaluation.step.Time());
}
}  // namespace

std::vector<double> ChancesOfBest(const std::vector<Ranked>& plans, const Machine& machine,
                                  Objective objective) {
  std::vector<double> weights, wins(plans.size(), 0);
  for (const Ranked& plan : plans) weights.push_back(WeightOf(plan.evaluation, objective));
  Normal normal;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::array<double, kTimeParts> factor{};
    for (std::size_t part = 0; part < factor.size(); ++part)
      factor[part] = std::exp(Deviation(static_cast<TimePart>(part), machine) * normal());
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const TimeParts& time = plans[i].evaluation.step.time;
      double sum = 0;
      for (std::size_t part = 0; part < factor.size(); ++part)
        sum += time[part].value * factor[part];
      sum *= weights[i] * std::exp(kOwnDeviation * normal());
      if (sum < least) least = sum, best = i;
    }
    if (!plans.empty()) wins[best] += 1.0 / kDraws;
  }
  return wins;
}
}  // namespace shardplan
