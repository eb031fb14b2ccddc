// SPDX-License-Identifier: Apache-2.0
#include "tests/evidence/page.h"

#include <algorithm>
#include <map>

#include "tests/evidence/markdown.h"

namespace shardplan::evidence {
namespace {

const char kHead[] =
    R"(<!-- Written by the target accuracy_update from tests/evidence; do not edit. -->
# How far the planner is off

Every public measurement of a training run or a collective that we know in enough detail is a row of
[tests/evidence](../tests/evidence/README.md), with its source. Here is what the planner says of each
beside what was measured, without a factor for any row or source. The test `accuracy` recomputes it
and fails when a source's median error, or a count of wrong verdicts, gets worse than recorded;
`ninja accuracy_update` in the build directory writes this page and the record anew.

- An error is predicted over measured less one, of memory or of the time of a step; where a source
  publishes tokens, samples or FLOP/s, of the time that they mean. Median, 90th percentile (p90) and
  worst are of the error's size, the bias is the median with its sign: positive is too much.
- Memory is compared as the source read it: allocated or reserved by PyTorch, or of the device.
- Fully stated rows are those whose source says all that the plan needs; the rest assume something.
)";

std::string Number(int count) { return fmt::format("{}", count); }

std::vector<std::string> ErrorCells(const std::string& name, const Errors& errors) {
  return {name,
          Number(errors.rows),
          Percent(errors.median),
          Percent(errors.p90),
          Percent(errors.worst),
          SignedPercent(errors.bias)};
}

std::string ErrorHead(const std::string& what) {
  return TableHead({what, "#rows", "#median", "#p90", "#worst", "#bias"});
}

std::string GoalTable(const std::vector<GoalLine>& goals) {
  std::string text = TableHead({"figure", "of", "#rows", "now", "goal", "reached"});
  for (const GoalLine& line : goals)
    text += TableRow(
        {line.what, line.name, line.rows, line.now, line.goal, line.reached ? "yes" : "no"});
  return text;
}

std::vector<std::size_t> FullyStated(const std::vector<Row>& rows) {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!rows[i].assumed) members.push_back(i);
  return members;
}

std::string CorrelationRow(const std::string& name, const std::vector<PlanSet>& sets) {
  if (sets.empty()) return "";
  int plans = 0;
  double lowest = 1;
  for (const PlanSet& set : sets) plans += set.plans, lowest = std::min(lowest, set.correlation);
  return TableRow({name, Number(static_cast<int>(sets.size())), Number(plans),
                   fmt::format("{:.3f}", MeanCorrelation(sets)), fmt::format("{:.2f}", lowest)});
}

std::string ChoiceRow(const std::string& name, const Choices& choices) {
  if (choices.jobs == 0) return "";
  return TableRow({name, Number(choices.jobs), fmt::format("{:.3f}", choices.mean_regret),
                   fmt::format("{:.3f}", choices.worst_regret),
                   fmt::format("{:.0f}%", 100.0 * choices.best_picked / choices.jobs)});
}

// The groups' figures, and those of all and of the fully stated rows.
struct Sections {
  const Evidence& evidence;
  const Judged& judged;
  std::vector<GroupFigures> groups;
  GroupFigures all, stated;

  Sections(const Evidence& e, const Judged& j) : evidence(e), judged(j) {
    std::vector<Outcome> outcomes;
    for (const Judgement& judgement : j.rows) outcomes.push_back(judgement.Shortened());
    groups = FiguresByGroup(e, j.rows, outcomes);
    all = FiguresOf("all", AllMembers(e.rows), e.rows, j.rows, outcomes);
    stated = FiguresOf("all fully stated", FullyStated(e.rows), e.rows, j.rows, outcomes);
  }

  std::string ErrorTable(Errors GroupFigures::*errors) const {
    std::string text = ErrorHead("source");
    for (const GroupFigures& group : groups)
      if ((group.*errors).rows > 0) text += TableRow(ErrorCells(group.name, group.*errors));
    text += TableRow(ErrorCells(all.name, all.*errors));
    return text + TableRow(ErrorCells(stated.name, stated.*errors));
  }

  std::string PointTable() const {
    std::vector<std::optional<double>> errors;
    int unanswered = 0;
    for (const PointJudgement& point : judged.points) {
      errors.push_back(point.time ? std::optional(point.time->error) : std::nullopt);
      unanswered += !point.refusal.empty();
    }
    std::string text = ErrorHead("collectives");
    for (const PointSet& set : PointSets(evidence.points, errors))
      text += TableRow(ErrorCells(set.name, set.time));
    std::map<std::string, std::pair<std::string, int>> refused;
    for (std::size_t i = 0; i < errors.size(); ++i)
      if (!judged.points[i].refusal.empty()) {
        const Testbed& testbed = evidence.testbeds[evidence.points[i].testbed];
        refused[testbed.name] = {judged.points[i].refusal, refused[testbed.name].second + 1};
      }
    text += fmt::format("\n{} of {} points have no answer:", unanswered, errors.size());
    for (const auto& [name, why] : refused)
      text += fmt::format(" {} ({}, {});", name, why.second, why.first);
    text.back() = '.';
    return text + "\n";
  }

  std::string FitTable() const {
    std::string text = TableHead({"source", "#ran", "#of them called oom", "#ran out of memory",
                                  "#of them called oom or tight", "#below 80 % of the device",
                                  "#of them called tight"});
    const auto add = [&](const GroupFigures& group) {
      const FitCounts& fit = group.fit;
      text +=
          TableRow({group.name, Number(fit.ran), Number(fit.false_oom), Number(fit.oom),
                    Number(fit.oom - fit.false_fit), Number(fit.roomy), Number(fit.roomy_tight)});
    };
    for (const GroupFigures& group : groups)
      if (group.fit.ran + group.fit.oom > 0) add(group);
    add(all);
    return text;
  }

  std::string IntervalTable() const {
    std::string text =
        TableHead({"source", "#memory rows", "#covered", "#half-width", "#in median errors",
                   "#time rows", "#covered", "#half-width", "#in median errors"});
    const auto add = [&](const std::string& name, const std::vector<std::size_t>& members) {
      std::vector<const Comparison*> memory, time;
      for (const std::size_t i : members) {
        if (judged.rows[i].memory) memory.push_back(&*judged.rows[i].memory);
        if (judged.rows[i].time) time.push_back(&*judged.rows[i].time);
      }
      std::vector<std::string> cells{name};
      int rows = 0;
      for (const Coverage& c : {CoverageOf(memory), CoverageOf(time)}) {
        rows += c.rows;
        const bool any = c.rows > 0;
        cells.push_back(any ? Number(c.rows) : "");
        cells.push_back(any ? fmt::format("{:.0f}%", 100.0 * c.covered / c.rows) : "");
        cells.push_back(any ? Percent(c.half_width) : "");
        cells.push_back(any ? fmt::format("{:.1f}", c.HalfWidths()) : "");
      }
      if (rows > 0) text += TableRow(cells);
    };
    for (const Group& group : evidence.groups)
      add(group.name, MembersOf(group.name, evidence.rows));
    add("all", AllMembers(evidence.rows));
    return text;
  }

  std::string OrderTables() const {
    std::string text = TableHead({"source", "#sets", "#plans", "#rank correlation", "#lowest"});
    const std::vector<PlanSet> all_sets = PlanSets(evidence.rows, judged.rows);
    for (const Group& group : evidence.groups) {
      std::vector<PlanSet> sets;
      for (const PlanSet& set : all_sets)
        if (set.group == group.name) sets.push_back(set);
      text += CorrelationRow(group.name, sets);
    }
    text += CorrelationRow("all", all_sets);
    text += "\n" + TableHead({"plan chosen among all that were measured", "#jobs", "#mean regret",
                              "#worst", "#the best one"});
    for (const Group& group : evidence.groups)
      if (group.jobs)
        text += ChoiceRow(group.name, ChoicesOf(group.name, evidence.rows, judged.rows));
    return text;
  }

  // What keeps rows of a group from an answer, with counts.
  std::string Refusals(const std::vector<std::size_t>& members) const {
    std::map<std::string, int> counts;
    for (const std::size_t i : members) {
      const std::string& missing = evidence.rows[i].too_little;
      if (!missing.empty())
        ++counts["not stated: " + missing];
      else if (!judged.rows[i].refusal.empty())
        ++counts[judged.rows[i].refusal];
    }
    std::string text;
    for (const auto& [why, count] : counts)
      text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", why, count);
    return text;
  }

  std::string UnansweredTable() const {
    std::string text =
        TableHead({"source", "#rows", "#answered", "#too little stated", "#no answer", "why"});
    const auto add = [&](const GroupFigures& group, const std::string& why) {
      text += TableRow({group.name, Number(group.rows), Number(group.answered),
                        Number(group.too_little),
                        Number(group.rows - group.answered - group.too_little), why});
    };
    for (const GroupFigures& group : groups)
      if (group.answered < group.rows) add(group, Refusals(MembersOf(group.name, evidence.rows)));
    add(all, "");
    return text;
  }
};

std::string SourceList(const std::vector<Group>& groups) {
  std::string text;
  for (const Group& group : groups) text += fmt::format("- **{}**: {}\n", group.name, group.about);
  return text;
}
}  // namespace

std::string AccuracyPage(const Evidence& evidence, const Judged& judged,
                         const std::vector<GoalLine>& goals, const Reasons& reasons) {
  const Sections sections(evidence, judged);
  return kHead + ("\n## Goals\n\n" + GoalTable(goals)) + "\n## Memory\n\n" +
         sections.ErrorTable(&GroupFigures::memory) + "\n## Step time\n\n" +
         sections.ErrorTable(&GroupFigures::time) + "\n## Collectives\n\n" + sections.PointTable() +
         "\n## Does it fit\n\nOf the rows with a legal plan.\n\n" + sections.FitTable() +
         "\n## Intervals\n\n"
         "How many measured values lie in the planner's 10-90 % range, and half its width over the "
         "predicted value.\nIntervals are given for allocated memory and for seconds per "
         "step.\n\n" +
         sections.IntervalTable() +
         "\n## Order among plans\n\n"
         "Spearman's rank correlation of predicted and measured times among four or more plans of "
         "one model on one\nnumber of GPUs, weighted with their number; and how much longer the "
         "plan takes that the planner would choose.\n\n" +
         sections.OrderTables() + "\n## Rows without an answer\n\n" + sections.UnansweredTable() +
         "\n## The sources\n\n" + SourceList(evidence.groups) +
         WorstRows(evidence, judged, reasons);
}

std::string Summary(const std::vector<GoalLine>& goals) {
  std::string text = TableHead({"figure", "of", "#rows", "error now", "goal"});
  for (const GoalLine& line : goals)
    text += TableRow({line.what, line.name, line.rows, line.now, line.goal});
  return text;
}

Result<std::string> WithSummary(const std::string& readme, const std::string& summary) {
  const std::size_t begin = readme.find(kSummaryBegin), end = readme.find(kSummaryEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    return Invalid(
        fmt::format("README.md: no place for the accuracy table; it stands between the "
                    "lines\n  {}  {}",
                    kSummaryBegin, kSummaryEnd));
  return readme.substr(0, begin) + kSummaryBegin + summary + readme.substr(end);
}
}  // namespace shardplan::evidence
