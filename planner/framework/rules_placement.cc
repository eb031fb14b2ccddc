// SPDX-License-Identifier: Apache-2.0
// Rules on how layers lie on the world, shared by several frameworks.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "planner/framework/rules_table.h"
#include "planner/framework/stages.h"
#include "planner/plan/axes.h"

namespace shardplan {
namespace {

bool LacksShapeAxis(const Proposal& p) {
  return (p.placement.pp > 1 && !p.framework.pipeline) ||
         (p.placement.vpp > 1 && !p.framework.interleaved);
}
std::string LacksShapeAxisText(const Proposal& p) {
  const auto lacks = [&](const char* what, const char* key, int asked,
                         bool (*has)(const Framework&)) {
    return fmt::format("{} has no {} ({} {}); these have: {}", p.framework.name, what, key, asked,
                       FrameworksWith(has));
  };
  if (p.placement.pp > 1 && !p.framework.pipeline)
    return lacks("pipeline parallelism", "pp", p.placement.pp,
                 [](const Framework& x) { return x.pipeline; });
  return lacks("virtual stages", "vpp", p.placement.vpp,
               [](const Framework& x) { return x.interleaved; });
}

bool VirtualWithoutPipeline(const Proposal& p) {
  return p.placement.vpp > 1 && p.placement.pp == 1 && p.framework.interleaved;
}
std::string VirtualWithoutPipelineText(const Proposal& p) {
  return fmt::format("vpp {} cuts the stages of a pipeline, and pp is 1; set pp > 1 or vpp 1",
                     p.placement.vpp);
}

bool HasTwoChunks(Schedule schedule) {
  return schedule == Schedule::kZbV || schedule == Schedule::kDualPipe;
}

// Which schedule goes with which vpp.
bool ClashingSchedule(const Proposal& p) {
  const auto& [pp, vpp, dp, schedule, stage_layers, microbatches] = p.placement;
  if (pp == 1) return schedule != Schedule::k1F1B && schedule != Schedule::kGpipe;
  if (schedule == Schedule::kInterleaved) return vpp == 1;
  if (HasTwoChunks(schedule)) return vpp != 2;
  return vpp > 1;
}
std::string ClashingScheduleText(const Proposal& p) {
  const auto& [pp, vpp, dp, schedule, stage_layers, microbatches] = p.placement;
  const std::string_view name = Name(schedule);
  if (pp == 1) return fmt::format("schedule {} needs a pipeline, and pp is 1; set pp > 1", name);
  if (schedule == Schedule::kInterleaved)
    return "schedule interleaved needs virtual stages, and vpp is 1; set vpp > 1, or schedule 1f1b";
  if (HasTwoChunks(schedule))
    return fmt::format("schedule {} has two virtual stages a rank, and vpp is {}; set vpp 2", name,
                       vpp);
  return fmt::format("vpp {} is for schedule interleaved, not {}; leave schedule out, or set vpp 1",
                     vpp, name);
}

bool LacksSchedule(const Proposal& p) {
  const bool has = p.framework.schedules & (1u << static_cast<unsigned>(p.placement.schedule));
  // An interleaved schedule where there is none is told by its vpp.
  return p.placement.pp > 1 && p.framework.pipeline && !has &&
         p.placement.schedule != Schedule::kInterleaved;
}
std::string LacksScheduleText(const Proposal& p) {
  std::string known;
  for (const std::string& name : NamesOf<Schedule>())
    if (p.framework.schedules & (1u << static_cast<unsigned>(*FromName<Schedule>(name))))
      known += (known.empty() ? "" : ", ") + name;
  return fmt::format("{} has no schedule {}; it has: {}", p.framework.name,
                     Name(p.placement.schedule), known);
}

// The layers of the stages.
bool Exists(const Proposal& p) {  // a pipeline of that shape is thinkable at all
  return !LacksShapeAxis(p) && !VirtualWithoutPipeline(p);
}
bool Unsplittable(const Proposal& p) {
  return p.placement.stage_layers.empty() && Exists(p) &&
         p.framework.split(p.model, p.placement.pp, p.placement.vpp).empty();
}
std::string UnsplittableText(const Proposal& p) {
  const auto& [pp, vpp, dp, schedule, stage_layers, microbatches] = p.placement;
  const int layers = LayersOf(p.model);
  if (vpp == 1)
    return fmt::format("{} cannot split {} layers into pp {} stages; of 1..{} these work: {}",
                       p.framework.name, layers, pp, layers,
                       WorkingPlacement(p, &Placement::pp, layers, Unsplittable));
  return fmt::format(
      "{} cannot split {} layers into pp {} x vpp {} = {} stages; with pp {} these vpp work: {}",
      p.framework.name, layers, pp, vpp, Wide{pp} * vpp, pp,
      WorkingPlacement(p, &Placement::vpp, layers, Unsplittable));
}

bool WrongStageLayers(const Proposal& p) {
  const std::vector<int>& stages = p.placement.stage_layers;
  if (stages.empty() || !Exists(p)) return false;
  const auto count = static_cast<Wide>(stages.size());
  if (count != p.placement.pp && count != Wide{p.placement.pp} * p.placement.vpp) return true;
  if (std::accumulate(stages.begin(), stages.end(), Wide{0}) != LayersOf(p.model)) return true;
  if (*std::min_element(stages.begin(), stages.end()) < 0) return true;
  for (std::size_t i = 1; i + 1 < stages.size(); ++i)
    if (stages[i] == 0) return true;
  const auto [least, most] = std::minmax_element(stages.begin(), stages.end());
  return *least != *most && !p.framework.uneven_stages;
}
std::string WrongStageLayersText(const Proposal& p) {
  const std::vector<int>& stages = p.placement.stage_layers;
  const auto& [pp, vpp, dp, schedule, stage_layers, microbatches] = p.placement;
  const auto count = static_cast<Wide>(stages.size());
  const Wide sum = std::accumulate(stages.begin(), stages.end(), Wide{0});
  std::string problem;
  if (count != pp && count != Wide{pp} * vpp)
    problem =
        fmt::format("stage_layers has {} entries for pp {} x vpp {}: give {}", count, pp, vpp,
                    vpp > 1 ? fmt::format("{} or {}", pp, Wide{pp} * vpp) : std::to_string(pp));
  else if (sum != LayersOf(p.model))
    problem =
        fmt::format("stage_layers add up to {}, the model has {} layers", sum, LayersOf(p.model));
  else if (!p.framework.uneven_stages)
    problem = fmt::format("{} splits layers evenly", p.framework.name);
  else
    problem = "stage_layers has a stage without layers, which only the first and the last may be";
  std::string split;
  for (const int layers : p.framework.split(p.model, pp, vpp))
    split += (split.empty() ? "" : ",") + std::to_string(layers);
  return split.empty() ? problem : fmt::format("{}; this works: {}", problem, split);
}

// The world.
bool CutBySharding(const Proposal& p) {
  return p.machine.Gpus() % (Wide{p.sharding.tp} * p.sharding.cp) == 0;
}
// REQUIRES: CutBySharding(p), which also keeps the product small.
Wide ModelRanks(const Proposal& p) { return Wide{p.sharding.tp} * p.sharding.cp * p.placement.pp; }
bool UncutWorld(const Proposal& p) {
  return CutBySharding(p) && p.machine.Gpus() % ModelRanks(p) != 0;
}
std::string UncutWorldText(const Proposal& p) {
  const int gpus = p.machine.Gpus();
  return fmt::format(
      "tp {} x cp {} x pp {} = {} does not divide the {} GPUs; with tp {} and cp {} these pp work: "
      "{}",
      p.sharding.tp, p.sharding.cp, p.placement.pp, ModelRanks(p), gpus, p.sharding.tp,
      p.sharding.cp,
      WorkingPlacement(p, &Placement::pp, std::min(gpus, LayersOf(p.model)), UncutWorld));
}

bool WrongDataRanks(const Proposal& p) {
  return CutBySharding(p) && p.machine.Gpus() % ModelRanks(p) == 0 &&
         p.placement.dp != p.machine.Gpus() / ModelRanks(p);
}
std::string WrongDataRanksText(const Proposal& p) {
  return fmt::format(
      "tp {} x cp {} x pp {} x dp {} = {}, and there are {} GPUs; dp {} uses them all",
      p.sharding.tp, p.sharding.cp, p.placement.pp, p.placement.dp, ModelRanks(p) * p.placement.dp,
      p.machine.Gpus(), p.machine.Gpus() / ModelRanks(p));
}

// Experts lie on the ranks of one stage: ep x etp of them for each copy.
bool UncutExpertStage(const Proposal& p) {
  const Wide copy = Wide{p.sharding.ep} * p.sharding.etp;
  return p.machine.Gpus() % p.placement.pp == 0 && p.machine.Gpus() % copy == 0 &&
         p.machine.Gpus() / p.placement.pp % copy != 0;
}
std::string UncutExpertStageText(const Proposal& p) {
  const int stage = p.machine.Gpus() / p.placement.pp;
  const Sharding& s = p.sharding;
  Sharding other = s;
  return fmt::format(
      "ep {} x etp {} = {} does not divide the {} GPUs of a stage ({} over pp {}); with etp {} "
      "these ep work: {}",
      s.ep, s.etp, Wide{s.ep} * s.etp, stage, p.machine.Gpus(), p.placement.pp, s.etp,
      Working(std::max(1, p.model.facts.experts), s.ep, [&](int ep) {
        return p.model.facts.experts % ep == 0 && stage % (Wide{ep} * s.etp) == 0;
      }));
}

// The batch. Where the world does not add up, dp means nothing.
bool UncutBatch(const Proposal& p) {
  const Wide batch = p.training.global_batch_size;
  return CutBySharding(p) && p.machine.Gpus() % ModelRanks(p) == 0 &&
         batch % p.sharding.micro_batch_size == 0 &&
         batch % (Wide{p.sharding.micro_batch_size} * p.placement.dp) != 0;
}
std::string UncutBatchText(const Proposal& p) {
  const Wide batch = p.training.global_batch_size;
  const int micro = p.sharding.micro_batch_size, dp = p.placement.dp;
  const Wide step = Wide{micro} * dp, below = batch / step * step;
  const int limit = static_cast<int>(std::clamp<Wide>(batch / dp, 1, 4096));
  const std::string batches = below > 0 ? fmt::format("{} and {} work", below, below + step)
                                        : fmt::format("{} works", step);
  return fmt::format(
      "global_batch_size {} is not a multiple of micro_batch_size {} x dp {} = {}; with dp {} "
      "these "
      "micro_batch_size work: {}; of global_batch_size {}",
      batch, micro, dp, step, dp,
      Working(limit, micro, [&](int value) { return batch % (Wide{value} * dp) == 0; }), batches);
}

// A gradient that is applied as it comes cannot wait for the next micro batch's.
bool AccumulatesApplied(const Proposal& p) {
  return p.training.optimizer_in_backward && p.placement.microbatches > 1;
}
std::string AccumulatesAppliedText(const Proposal& p) {
  return fmt::format(
      "train.optimizer_in_backward leaves nothing to accumulate, and there are {} micro batches; "
      "micro_batch_size {} makes one",
      p.placement.microbatches, Wide{p.sharding.micro_batch_size} * p.placement.microbatches);
}

// {layers: [...]} names the stages.
bool WrongRecomputeStages(const Proposal& p) {
  const Recompute& r = p.sharding.recompute;
  return r.kind == RecomputeKind::kLayers && r.layers.size() != 1 &&
         static_cast<int>(r.layers.size()) != p.placement.pp;
}
std::string WrongRecomputeStagesText(const Proposal& p) {
  return fmt::format("recompute layers has {} entries for pp {}: give 1 (the whole model) or {}",
                     p.sharding.recompute.layers.size(), p.placement.pp, p.placement.pp);
}
}  // namespace

void AddPlacementRules(std::vector<Rule>& rules) {
  constexpr Binding kShape = Binding::kShape, kAll = Binding::kPlacement;
  AddShared(rules, {nullptr, nullptr, "G1", "G1", "G1"}, kShape, LacksShapeAxis,
            LacksShapeAxisText);
  AddShared(rules, {"M5", "T5", nullptr, nullptr, "G9"}, kShape, VirtualWithoutPipeline,
            VirtualWithoutPipelineText);
  AddShared(rules, {"M5", "T5", "G9", "G9", "G9"}, kShape, ClashingSchedule, ClashingScheduleText);
  AddShared(rules, {"G9", "T5", "G9", nullptr, "G9"}, kShape, LacksSchedule, LacksScheduleText);
  AddShared(rules, {"M3", "T5", "G8", nullptr, "G8"}, kShape, Unsplittable, UnsplittableText);
  AddShared(rules, {"M3", "T5", "G8", "G8", "G8"}, kShape, WrongStageLayers, WrongStageLayersText);
  AddShared(rules, {"M1", "T1", "G2", "A1", "G2"}, kAll, UncutWorld, UncutWorldText);
  AddShared(rules, {"M1", "T1", "G2", "A1", "G2"}, kAll, WrongDataRanks, WrongDataRanksText);
  AddShared(rules, {"M1", "T3", "D9", "G4", "G4"}, kAll, UncutExpertStage, UncutExpertStageText);
  AddShared(rules, {"M7", "T4", "D1", "G7", "G7"}, kAll, UncutBatch, UncutBatchText);
  AddShared(rules, {"G16", "G16", "G16", "G16", "G16"}, kAll, AccumulatesApplied,
            AccumulatesAppliedText);
  AddShared(rules, {"M11", "G13", "G13", "G13", "G13"}, kAll, WrongRecomputeStages,
            WrongRecomputeStagesText);
}
}  // namespace shardplan
