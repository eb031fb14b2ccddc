// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/plan/axes.h"
#include "planner/report/check_report.h"
#include "planner/report/evaluation_text.h"
#include "planner/report/plan_diff.h"

namespace shardplan {
namespace {

std::string Line(const FlagChange& change) {
  const auto joined = [&](const std::string& value) {
    return value.empty() ? change.name : change.name + " " + value;
  };
  if (change.sign == '+') return "+ " + joined(change.after);
  if (change.sign == '-') return "- " + joined(change.before);
  return fmt::format("~ {} {} -> {}", change.name, change.before, change.after);
}

std::string SignedPercent(double before, double after) {
  return before > 0 ? fmt::format("{:+.1f}%", (after / before - 1) * 100) : "";
}
std::string SignedBytes(Bytes before, Bytes after) {
  const double gib = (after.value - before.value) / (1 << 30);
  return fmt::format("{:+.1f} GiB", gib);
}

// The figures of a step, beside those of the last legal plan before it.
void AddRow(Table& table, const std::string& change, const DiffStep& step,
            const Evaluation* before) {
  if (!step.evaluation) {
    const std::string why =
        step.broken.empty() ? "" : step.broken.front().rule + ": " + step.broken.front().text;
    table.Add({change, "breaks a rule", "", "", "", why}, Tone::kBad);
    return;
  }
  const Evaluation& now = *step.evaluation;
  const double seconds = now.step.Time().value;
  table.Add({change, FormatSeconds(now.step.Time()),
             before ? SignedPercent(before->step.Time().value, seconds) : "",
             FormatBytes(now.peak_device),
             before ? SignedBytes(before->peak_device, now.peak_device) : "", Name(now.verdict)},
            ToneOf(now.verdict));
}

const Evaluation* EvaluationOf(const DiffStep& step) {
  return step.evaluation ? &*step.evaluation : nullptr;
}

Json FigureJson(const DiffStep& step) {
  Json json;
  json["verdict"] = step.evaluation ? Name(step.evaluation->verdict) : "illegal";
  if (!step.evaluation) {
    json["reasons"] = ReasonsJson(step.broken);
    return json;
  }
  json["plan"] = PlanJson(step.evaluation->plan);
  json["step_seconds"] = step.evaluation->step.Time().value;
  json["peak_device"] = WholeNumber(step.evaluation->peak_device.value);
  return json;
}
}  // namespace

std::string DiffReport(const PlanDiff& diff, const Look& look) {
  using Align = Table::Align;
  Table table(
      {{"change", Align::kLeft}, {"step"}, {""}, {"memory"}, {""}, {"verdict", Align::kLeft}});
  AddRow(table, "A  " + diff.before_name, diff.before, nullptr);
  const Evaluation* last = EvaluationOf(diff.before);
  for (const DiffStep& step : diff.steps) {
    std::vector<std::string> lines;
    for (const FlagChange& change : step.flags) lines.push_back(Line(change));
    if (lines.empty()) lines.push_back(fmt::format("~ {}", fmt::join(step.axes, ", ")));
    AddRow(table, lines.front(), step, last);
    for (std::size_t i = 1; i < lines.size(); ++i) table.Add({lines[i], "", "", "", "", ""});
    if (step.evaluation) last = &*step.evaluation;
  }
  const DiffStep& end = diff.steps.empty() ? diff.before : diff.steps.back();
  AddRow(table, "B  " + diff.after_name, end, EvaluationOf(diff.before));
  std::string text =
      diff.steps.empty() ? "no changes: both are the same plan of the same job\n" : "";
  text += table.Print(look);
  return text +
         "each effect is that of its change after those above; + added, - removed, ~ changed\n";
}

Json DiffJson(const PlanDiff& diff) {
  Json json{{"schema", kSchema}};
  const DiffStep& end = diff.steps.empty() ? diff.before : diff.steps.back();
  json["before"] = FigureJson(diff.before);
  json["before"]["name"] = diff.before_name;
  json["after"] = FigureJson(end);
  json["after"]["name"] = diff.after_name;
  json["changes"] = Json::array();
  for (const DiffStep& step : diff.steps) {
    Json entry = FigureJson(step);
    entry.erase("plan");
    entry["axes"] = step.axes;
    entry["flags"] = Json::array();
    for (const FlagChange& change : step.flags)
      entry["flags"].push_back({{"sign", std::string(1, change.sign)},
                                {"name", change.name},
                                {"before", change.before},
                                {"after", change.after}});
    json["changes"].push_back(std::move(entry));
  }
  return json;
}
}  // namespace shardplan
