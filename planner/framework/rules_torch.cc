// SPDX-License-Identifier: Apache-2.0
// Rules that only torchtitan, PyTorch's pipelines, accelerate or nanotron have.
#include <fmt/format.h>

#include <algorithm>

#include "planner/framework/rules_table.h"

namespace shardplan {
namespace {
constexpr FrameworkSet kTorchtitan = SetOf(FrameworkId::kTorchtitan);
constexpr FrameworkSet kTorchPipelines =
    SetOf(FrameworkId::kTorchtitan) | SetOf(FrameworkId::kFsdp);
// Since when torchtitan is configured in Python instead of TOML.
constexpr const char* kPythonConfig = "0.3";

// T3: until then experts are whole, or cut as all else.
bool HalfCutExperts(const Proposal& p) {
  return p.sharding.etp != 1 && p.sharding.etp != p.sharding.tp;
}
std::string HalfCutExpertsText(const Proposal& p) {
  return fmt::format("etp {} is neither 1 nor tp {}; these work: 1 {}", p.sharding.etp,
                     p.sharding.tp, p.sharding.tp);
}

// T4: until then the sequence is cut by tp x 2 cp, whatever is used.
bool UncutSequence(const Proposal& p) {
  return p.training.seq_length % (Wide{2} * p.sharding.tp * p.sharding.cp) != 0;
}
std::string UncutSequenceText(const Proposal& p) {
  const Sharding& s = p.sharding;
  return fmt::format(
      "seq_length {} is not a multiple of tp {} x 2 cp {} = {}; with cp {} these tp work: {}",
      p.training.seq_length, s.tp, s.cp, Wide{2} * s.tp * s.cp, s.cp,
      WorkingSharding(p, &Sharding::tp, std::max(1, p.model.facts.heads), UncutSequence));
}

// T5: schedules with one stage a rank want a micro batch for each stage.
bool TooFewMicrobatches(const Proposal& p) {
  const bool single =
      p.placement.schedule == Schedule::k1F1B || p.placement.schedule == Schedule::kGpipe;
  return single && p.placement.pp > 1 && p.placement.microbatches < p.placement.pp;
}
std::string TooFewMicrobatchesText(const Proposal& p) {
  return fmt::format(
      "pp {} needs at least as many micro batches, and there are {}; lower micro_batch_size (now "
      "{}) or pp",
      p.placement.pp, p.placement.microbatches, p.sharding.micro_batch_size);
}

// T5: the interleaved schedule runs in rounds of equal length, at least one micro batch a rank
// each.
bool UnevenRounds(const Proposal& p) {
  if (p.placement.schedule != Schedule::kInterleaved || p.placement.pp == 1) return false;
  return p.placement.microbatches % std::max(1, p.placement.microbatches / p.placement.pp) != 0;
}
std::string UnevenRoundsText(const Proposal& p) {
  const int rounds = p.placement.microbatches / p.placement.pp;
  return fmt::format(
      "schedule interleaved runs {} micro batches over pp {} in {} rounds, which must be of one "
      "length; multiples of {} work",
      p.placement.microbatches, p.placement.pp, rounds, rounds);
}

// T7.
bool AsyncWithoutCompile(const Proposal& p) { return p.policy.overlap.tp && !p.training.compile; }
std::string AsyncWithoutCompileText(const Proposal&) {
  return "overlap.tp (async TP) needs train.compile; set it true, or overlap.tp false";
}

// T8.
bool CapturesPipeline(const Proposal& p) { return p.training.cuda_graphs && p.placement.pp > 1; }
std::string CapturesPipelineText(const Proposal& p) {
  return fmt::format("train.cuda_graphs does not go with pp {}; set it false, or pp 1",
                     p.placement.pp);
}

// T11: DDP alone, or no DDP.
bool HasMesh(const Proposal& p) {
  return p.placement.dp > 1 && (p.sharding.tp > 1 || p.sharding.cp > 1 || p.placement.pp > 1);
}
bool ReplicatesInMesh(const Proposal& p) { return p.policy.zero_stage == 0 && HasMesh(p); }
std::string ReplicatesInMeshText(const Proposal& p) {
  return fmt::format(
      "zero_stage 0 (DDP) over dp {} does not go with tp, cp or pp; zero_stage 2 and 3 work",
      p.placement.dp);
}

// A3.
std::string ReplicatesUnderTensorText(const Proposal& p) {
  return fmt::format(
      "accelerate replicates over dp {} beside tp or cp only where it also shards; zero_stage 2 "
      "and "
      "3 work",
      p.placement.dp);
}

// N1: nanotron's 1F1B.
bool TooFewForNanotron(const Proposal& p) {
  return p.placement.schedule == Schedule::k1F1B && p.placement.microbatches < p.placement.pp - 1;
}
std::string TooFewForNanotronText(const Proposal& p) {
  return fmt::format(
      "schedule 1f1b over pp {} needs at least {} micro batches, and there are {}; lower "
      "micro_batch_size (now {}) or pp, or schedule gpipe",
      p.placement.pp, p.placement.pp - 1, p.placement.microbatches, p.sharding.micro_batch_size);
}
}  // namespace

void AddTorchRules(std::vector<Rule>& rules) {
  constexpr Binding kSharding = Binding::kSharding, kPlacement = Binding::kPlacement,
                    kPolicy = Binding::kPolicy;
  rules.push_back({.id = "T3",
                   .frameworks = kTorchtitan,
                   .binding = kSharding,
                   .broken = HalfCutExperts,
                   .text = HalfCutExpertsText,
                   .until = kPythonConfig});
  rules.push_back({.id = "T4",
                   .frameworks = kTorchtitan,
                   .binding = kSharding,
                   .broken = UncutSequence,
                   .text = UncutSequenceText,
                   .until = kPythonConfig});
  rules.push_back({"T5", kTorchPipelines, kPlacement, TooFewMicrobatches, TooFewMicrobatchesText});
  rules.push_back({"T5", kTorchPipelines, kPlacement, UnevenRounds, UnevenRoundsText});
  rules.push_back({.id = "T7",
                   .frameworks = kTorchtitan,
                   .binding = kPolicy,
                   .broken = AsyncWithoutCompile,
                   .text = AsyncWithoutCompileText,
                   .concerns = AsyncWithoutCompile});
  rules.push_back({.id = "T8",
                   .frameworks = kTorchtitan,
                   .binding = Binding::kShape,
                   .broken = CapturesPipeline,
                   .text = CapturesPipelineText,
                   .since = kPythonConfig});
  rules.push_back({.id = "T11",
                   .frameworks = kTorchtitan,
                   .binding = kPolicy,
                   .broken = ReplicatesInMesh,
                   .text = ReplicatesInMeshText,
                   .concerns = HasMesh});
  rules.push_back({.id = "A3",
                   .frameworks = SetOf(FrameworkId::kHf),
                   .binding = kPolicy,
                   .broken = ReplicatesInMesh,
                   .text = ReplicatesUnderTensorText,
                   .concerns = HasMesh});
  rules.push_back(
      {"N1", SetOf(FrameworkId::kNanotron), kPlacement, TooFewForNanotron, TooFewForNanotronText});
}
}  // namespace shardplan
