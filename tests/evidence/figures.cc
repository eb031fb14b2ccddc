// SPDX-License-Identifier: Apache-2.0
#include "tests/evidence/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "planner/report/collectives_report.h"

namespace shardplan::evidence {
namespace {

constexpr std::size_t kLeastPlans = 4;   // of a set whose ranks are compared
constexpr std::size_t kLeastRivals = 3;  // of a job to choose a plan for
constexpr double kRoomy = 0.8;           // of the device

// Where NCCL's bandwidth decides, where protocols and pipelining do, where latency does.
struct SizeRange {
  const char* name;
  Bytes least, below;
};
constexpr SizeRange kSizeRanges[] = {
    {"from 64 MiB", 64_MiB, {1e300}}, {"1 to 64 MiB", 1_MiB, 64_MiB}, {"below 1 MiB", {}, 1_MiB}};

void CountFit(const Row& row, const Judgement& judgement, Verdict verdict, FitCounts* fit) {
  if (verdict == Verdict::kIllegal) return;
  const bool right = row.out_of_memory ? verdict != Verdict::kFits : verdict != Verdict::kOom;
  ++(row.out_of_memory ? fit->oom : fit->ran);
  if (!right) ++(row.out_of_memory ? fit->false_fit : fit->false_oom);
  if (!right || verdict == Verdict::kOom || !row.memory) return;
  if (row.memory->peak < judgement.capacity * kRoomy) {
    ++fit->roomy;
    fit->roomy_tight += verdict == Verdict::kTight;
  }
}

// What plans of one model, GPUs, sequence and (for times of steps) batch have in common.
std::string JobKey(const Row& row) {
  const nlohmann::json& cluster = row.spec.at("cluster");
  const nlohmann::json& train = row.spec.at("train");
  const int gpus = cluster.value("nodes", 1) * cluster.value("gpus_per_node", 1);
  const bool by_step = row.time->rate == Rate::kStepSeconds;
  return fmt::format("{} {} {} {} {} {}", row.group, row.spec.at("model").dump(), gpus,
                     train.value("seq_length", nlohmann::json()).dump(),
                     static_cast<int>(row.time->rate),
                     by_step ? train.value("global_batch_size", nlohmann::json()).dump() : "");
}

// Rows with a predicted time, by job.
std::map<std::string, std::vector<std::size_t>> Jobs(const std::vector<Row>& rows,
                                                     const std::vector<Judgement>& judgements) {
  std::map<std::string, std::vector<std::size_t>> jobs;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (judgements[i].time) jobs[JobKey(rows[i])].push_back(i);
  return jobs;
}

std::vector<Pair> TimesOf(const std::vector<std::size_t>& members,
                          const std::vector<Judgement>& judgements) {
  std::vector<Pair> pairs;
  for (const std::size_t i : members)
    pairs.emplace_back(judgements[i].time->predicted, judgements[i].time->measured);
  return pairs;
}
}  // namespace

GroupFigures FiguresOf(const std::string& name, const std::vector<std::size_t>& members,
                       const std::vector<Row>& rows, const std::vector<Judgement>& judgements,
                       const std::vector<Outcome>& outcomes) {
  GroupFigures figures{.name = name, .rows = static_cast<int>(members.size())};
  std::vector<double> memory, time;
  for (const std::size_t i : members) {
    const Outcome& outcome = outcomes[i];
    figures.too_little += !rows[i].too_little.empty();
    if (outcome.memory) memory.push_back(*outcome.memory);
    if (outcome.time) time.push_back(*outcome.time);
    if (!outcome.verdict) continue;
    figures.answered += *outcome.verdict != Verdict::kIllegal;
    CountFit(rows[i], judgements[i], *outcome.verdict, &figures.fit);
  }
  figures.memory = ErrorsOf(memory);
  figures.time = ErrorsOf(time);
  return figures;
}

std::vector<std::size_t> MembersOf(const std::string& group, const std::vector<Row>& rows) {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].group == group) members.push_back(i);
  return members;
}

std::vector<std::size_t> AllMembers(const std::vector<Row>& rows) {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < rows.size(); ++i) members.push_back(i);
  return members;
}

std::vector<GroupFigures> FiguresByGroup(const Evidence& evidence,
                                         const std::vector<Judgement>& judgements,
                                         const std::vector<Outcome>& outcomes) {
  std::vector<GroupFigures> figures;
  for (const Group& group : evidence.groups)
    figures.push_back(FiguresOf(group.name, MembersOf(group.name, evidence.rows), evidence.rows,
                                judgements, outcomes));
  return figures;
}

Coverage CoverageOf(const std::vector<const Comparison*>& comparisons) {
  Coverage coverage;
  std::vector<double> widths, errors;
  for (const Comparison* comparison : comparisons) {
    if (!comparison->interval) continue;
    errors.push_back(comparison->error);
    coverage.covered += comparison->interval->covers;
    widths.push_back(comparison->interval->half_width);
  }
  coverage.rows = static_cast<int>(widths.size());
  if (!widths.empty()) coverage.half_width = Quantile(widths, 0.5);
  coverage.median_error = ErrorsOf(errors).median;
  return coverage;
}

std::vector<PlanSet> PlanSets(const std::vector<Row>& rows,
                              const std::vector<Judgement>& judgements) {
  std::vector<PlanSet> sets;
  for (const auto& [key, members] : Jobs(rows, judgements)) {
    if (members.size() < kLeastPlans) continue;
    const std::optional<double> correlation = RankCorrelation(TimesOf(members, judgements));
    if (correlation)
      sets.push_back({rows[members.front()].group, static_cast<int>(members.size()), *correlation});
  }
  return sets;
}

double MeanCorrelation(const std::vector<PlanSet>& sets) {
  double sum = 0, plans = 0;
  for (const PlanSet& set : sets) sum += set.plans * set.correlation, plans += set.plans;
  return plans > 0 ? sum / plans : 0;
}

Choices ChoicesOf(const std::string& group, const std::vector<Row>& rows,
                  const std::vector<Judgement>& judgements) {
  Choices choices;
  for (const auto& [key, members] : Jobs(rows, judgements)) {
    if (rows[members.front()].group != group || members.size() < kLeastRivals) continue;
    const double regret = ChoiceRegret(TimesOf(members, judgements));
    ++choices.jobs;
    choices.best_picked += regret <= 1;
    choices.mean_regret += regret;
    choices.worst_regret = std::max(choices.worst_regret, regret);
  }
  if (choices.jobs > 0) choices.mean_regret /= choices.jobs;
  return choices;
}

std::vector<std::string> PointSetNames() {
  std::vector<std::string> names;
  for (const SizeRange& range : kSizeRanges) names.emplace_back(range.name);
  for (int op = 0; op < kCollectives; ++op) names.emplace_back(Name(static_cast<Collective>(op)));
  return names;
}

bool InPointSet(const Point& point, const std::string& name) {
  for (const SizeRange& range : kSizeRanges)
    if (name == range.name) return range.least <= point.bytes && point.bytes < range.below;
  return name == Name(point.op);
}

std::vector<PointSet> PointSets(const std::vector<Point>& points,
                                const std::vector<std::optional<double>>& errors) {
  std::vector<PointSet> sets;
  for (const std::string& name : PointSetNames()) {
    std::vector<double> taken;
    for (std::size_t i = 0; i < points.size(); ++i)
      if (errors[i] && InPointSet(points[i], name)) taken.push_back(*errors[i]);
    if (!taken.empty()) sets.push_back({name, ErrorsOf(taken)});
  }
  return sets;
}
}  // namespace shardplan::evidence
