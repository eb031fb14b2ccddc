// SPDX-License-Identifier: Apache-2.0
// The rows that miss most, and why.
#include <algorithm>
#include <cmath>

#include "tests/evidence/markdown.h"
#include "tests/evidence/page.h"

namespace shardplan::evidence {
namespace {

constexpr std::size_t kMostRows = 3;  // of a group and figure
constexpr std::size_t kMostPoints = 12;
// Smaller misses are not listed.
constexpr double kLeastMemory = 0.02, kLeastTime = 0.05;

const char* UnitOf(const Row& row, Figure figure) {
  if (figure == Figure::kMemory) {
    switch (row.memory->kind) {
      case MemoryKind::kAllocated:
        return "GiB allocated";
      case MemoryKind::kReserved:
        return "GiB reserved";
      case MemoryKind::kDevice:
        return "GiB of the device";
    }
  }
  switch (row.time->rate) {
    case Rate::kStepSeconds:
      return "s";
    case Rate::kTokensPerGpu:
      return "tokens/s per GPU";
    case Rate::kTeraflopsPerGpu:
      return "TFLOP/s per GPU";
    case Rate::kSamples:
      return "samples/s";
  }
  return "";
}

std::string Explanation(const Why* why) { return why ? why->text : "unknown"; }

// The row's id with the source behind it.
std::string Name(const Row& row) { return Link(fmt::format("`{}`", row.id), row.url); }

// Three digits and more where there are more: "0.314", "74.8", "1,234".
std::string Figured(double value) {
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

// One row of evidence in a figure that was predicted.
struct Miss {
  const Row* row;
  const Comparison* comparison;
  Figure figure;
};

std::string LineOf(const Miss& miss, const Why* why) {
  return TableRow(
      {Name(*miss.row),
       fmt::format("{} {}", Figured(miss.comparison->predicted), UnitOf(*miss.row, miss.figure)),
       Figured(miss.comparison->measured), SignedPercent(miss.comparison->error),
       Explanation(why)});
}

std::vector<Miss> MissesOf(const std::vector<std::size_t>& members, const Evidence& evidence,
                           const Judged& judged, Figure figure) {
  std::vector<Miss> misses;
  for (const std::size_t i : members) {
    const std::optional<Comparison>& comparison =
        figure == Figure::kMemory ? judged.rows[i].memory : judged.rows[i].time;
    if (comparison) misses.push_back({&evidence.rows[i], &*comparison, figure});
  }
  // By the size that is printed, then by id, so that equal misses keep their order.
  std::stable_sort(misses.begin(), misses.end(), [](const Miss& a, const Miss& b) {
    const auto tenths = [](const Miss& m) {
      return std::round(1000 * std::abs(m.comparison->error));
    };
    return tenths(a) != tenths(b) ? tenths(a) > tenths(b) : a.row->id < b.row->id;
  });
  return misses;
}

std::string WorstOfGroup(const Group& group, const Evidence& evidence, const Judged& judged,
                         const Reasons& reasons) {
  std::string lines;
  for (const Figure figure : {Figure::kMemory, Figure::kTime}) {
    const double least = figure == Figure::kMemory ? kLeastMemory : kLeastTime;
    std::vector<Miss> misses =
        MissesOf(MembersOf(group.name, evidence.rows), evidence, judged, figure);
    if (misses.size() > kMostRows) misses.resize(kMostRows);
    for (const Miss& miss : misses)
      if (std::abs(miss.comparison->error) >= least)
        lines += LineOf(miss, reasons.Find(miss.row->id, figure, miss.comparison->error));
  }
  if (lines.empty()) return "";
  return fmt::format("\n### {}\n\n", group.name) +
         TableHead({"row", "#predicted", "#measured", "#error", "why"}) + lines;
}

std::string WrongVerdicts(const Evidence& evidence, const Judged& judged, const Reasons& reasons) {
  std::string lines;
  for (std::size_t i = 0; i < evidence.rows.size(); ++i) {
    const Row& row = evidence.rows[i];
    const Judgement& judgement = judged.rows[i];
    if (judgement.verdict != (row.out_of_memory ? Verdict::kFits : Verdict::kOom)) continue;
    lines += TableRow(
        {Name(row), row.out_of_memory ? "ran out of memory" : "ran", Name(*judgement.verdict),
         fmt::format("{} GiB", Figured(judgement.needed.value / 0x1p30)),
         Figured(judgement.capacity.value / 0x1p30),
         Explanation(reasons.Find(row.id, Figure::kMemory, row.out_of_memory ? -1 : 1))});
  }
  if (lines.empty()) return "";
  return "\n### Wrong verdicts\n\n" +
         TableHead({"row", "what happened", "called", "#needs at least", "#of", "why"}) + lines;
}

std::string WorstPoints(const Evidence& evidence, const Judged& judged, const Reasons& reasons) {
  std::vector<std::pair<double, std::size_t>> misses;
  for (std::size_t i = 0; i < judged.points.size(); ++i)
    if (judged.points[i].time)
      misses.emplace_back(-std::round(1000 * std::abs(judged.points[i].time->error)), i);
  std::sort(misses.begin(), misses.end());
  if (misses.size() > kMostPoints) misses.resize(kMostPoints);
  std::string text =
      "\n### Collectives\n\n" + TableHead({"point", "#predicted", "#measured", "#error", "why"});
  for (const auto& [size, i] : misses) {
    const Point& point = evidence.points[i];
    const Comparison& time = *judged.points[i].time;
    text += TableRow({Link(fmt::format("`{}`", point.id), evidence.testbeds[point.testbed].url),
                      fmt::format("{} {}", Figured(time.predicted), point.time ? "us" : "GB/s"),
                      Figured(time.measured), SignedPercent(time.error),
                      Explanation(reasons.Find(point.id, Figure::kCollectives, time.error))});
  }
  return text;
}

// Compared or withdrawn.
std::string Contradictions(const Evidence& evidence, const Judged& judged, const Reasons& reasons) {
  std::string lines;
  for (std::size_t i = 0; i < evidence.rows.size(); ++i)
    for (const Figure figure : {Figure::kMemory, Figure::kTime}) {
      const Row& row = evidence.rows[i];
      const std::optional<Comparison>& comparison =
          figure == Figure::kMemory ? judged.rows[i].memory : judged.rows[i].time;
      const Why* why = reasons.Contradiction(row.id, figure);
      if (why == nullptr) continue;
      lines += comparison ? LineOf({&row, &*comparison, figure}, why)
                          : TableRow({Name(row), "", "", "", why->text});
    }
  if (lines.empty()) return "";
  return "\n## Rows that contradict themselves\n\n" +
         TableHead({"row", "#predicted", "#measured", "#error", "the arithmetic"}) + lines;
}
}  // namespace

std::string WorstRows(const Evidence& evidence, const Judged& judged, const Reasons& reasons) {
  std::string text = fmt::format(
      "\n## The worst rows, and why\n\n"
      "Up to {} of each source and figure, from {:.0f} % of memory and {:.0f} % of time on. "
      "\"unknown\" is what nobody has\nfound yet. Sources are behind the rows' names.\n",
      kMostRows, 100 * kLeastMemory, 100 * kLeastTime);
  for (const Group& group : evidence.groups) text += WorstOfGroup(group, evidence, judged, reasons);
  return text + WorstPoints(evidence, judged, reasons) + WrongVerdicts(evidence, judged, reasons) +
         Contradictions(evidence, judged, reasons);
}
}  // namespace shardplan::evidence
