// SPDX-License-Identifier: Apache-2.0
#include "tests/evidence/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "planner/spec/quantity_text.h"
#include "tests/evidence/csv.h"

namespace shardplan::evidence {
namespace {

constexpr double kStep = 1e-4;  // that errors are rounded to
constexpr std::size_t kMostMoved = 8;
constexpr Verdict kVerdicts[] = {Verdict::kFits, Verdict::kTight, Verdict::kOom, Verdict::kIllegal};

std::optional<double> Rounded(std::optional<double> error) {
  if (error) *error = std::round(*error / kStep) * kStep;
  return error;
}

std::string Cell(std::optional<double> error) { return error ? fmt::format("{:.4f}", *error) : ""; }

// An error in words: "+3.2%", "no answer".
std::string Shown(std::optional<double> error) {
  return error ? fmt::format("{:+.2f}%", 100 * *error) : "no answer";
}
std::string Shown(std::optional<Verdict> verdict) { return verdict ? Name(*verdict) : "no answer"; }

Result<std::optional<double>> ErrorOf(const Csv& csv, std::size_t line, std::size_t column) {
  const std::string& text = csv.Text(line, column);
  if (text.empty()) return std::nullopt;
  const ParsedNumber number = ParseNumber(text, Dimension::kNone);
  if (number.fault != NumberFault::kNone)
    return csv.Fail(line, column, fmt::format("found {}", shardplan::Shown(text)),
                    "expected an error, as in 0.0123");
  return number.value;
}

Outcome RecordedOf(const Record& record, const std::string& id) {
  const auto found = record.find(id);
  return found == record.end() ? Outcome{} : found->second;
}

// The ids whose `value` moved most away from what is right, recorded and now.
template <class Value, class Badness>
std::string Moved(const std::vector<std::string>& ids, const Record& recorded, const Record& now,
                  Value value, Badness badness) {
  std::vector<std::pair<double, std::string>> moved;
  for (const std::string& id : ids) {
    const auto before = value(RecordedOf(recorded, id)), after = value(RecordedOf(now, id));
    const double by = badness(after) - badness(before);
    if (by > 0)
      moved.emplace_back(
          -by, fmt::format("    {}: {} recorded, {} now\n", id, Shown(before), Shown(after)));
  }
  std::sort(moved.begin(), moved.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(moved.size(), kMostMoved); ++i) text += moved[i].second;
  if (moved.size() > kMostMoved)
    text += fmt::format("    and {} more\n", moved.size() - kMostMoved);
  return text;
}

// Compares the figures of sets of rows.
class Comparer {
 public:
  Comparer(const Record& recorded, const Record& now) : recorded_(recorded), now_(now) {}

  void Errors(const std::string& what, const evidence::Errors& before,
              const evidence::Errors& after, const std::vector<std::string>& ids,
              std::optional<double> Outcome::*error) {
    if (before.rows == 0 || after.median <= before.median + kStep / 2) return;
    text_ += fmt::format("{}: median error {:.2f}% recorded, {:.2f}% now\n", what,
                         100 * before.median, 100 * after.median);
    text_ += Moved(
        ids, recorded_, now_, [=](const Outcome& o) { return o.*error; },
        [](std::optional<double> e) { return e ? std::abs(*e) : 0; });
  }

  void Count(const std::string& what, int before, int after, const std::vector<std::string>& ids,
             const std::function<bool(std::optional<Verdict>)>& bad) {
    if (after <= before) return;
    text_ += fmt::format("{}: {} recorded, {} now\n", what, before, after);
    text_ += Moved(
        ids, recorded_, now_, [](const Outcome& o) { return o.verdict; },
        [&](std::optional<Verdict> v) { return bad(v) ? 1 : 0; });
  }

  const std::string& text() const { return text_; }

 private:
  const Record& recorded_;
  const Record& now_;
  std::string text_;
};

bool Unanswered(std::optional<Verdict> verdict) {
  return !verdict || *verdict == Verdict::kIllegal;
}

void CompareGroup(const GroupFigures& before, const GroupFigures& after,
                  const std::vector<std::string>& ids, Comparer* comparer) {
  const std::string& name = after.name;
  comparer->Errors(name + " memory", before.memory, after.memory, ids, &Outcome::memory);
  comparer->Errors(name + " time", before.time, after.time, ids, &Outcome::time);
  comparer->Count(name + " rows without an answer", before.rows - before.answered,
                  after.rows - after.answered, ids, Unanswered);
  comparer->Count(name + " rows that ran, called oom", before.fit.false_oom, after.fit.false_oom,
                  ids, [](auto v) { return v == Verdict::kOom; });
  comparer->Count(name + " rows that ran out of memory, called fits", before.fit.false_fit,
                  after.fit.false_fit, ids, [](auto v) { return v == Verdict::kFits; });
  comparer->Count(name + " roomy rows called tight", before.fit.roomy_tight, after.fit.roomy_tight,
                  ids, [](auto v) { return v == Verdict::kTight; });
}

std::vector<Outcome> OutcomesOf(const std::vector<Row>& rows, const Record& record) {
  std::vector<Outcome> outcomes;
  for (const Row& row : rows) outcomes.push_back(RecordedOf(record, row.id));
  return outcomes;
}

std::vector<PointSet> PointSetsOf(const std::vector<Point>& points, const Record& record) {
  std::vector<std::optional<double>> errors;
  for (const Point& point : points) errors.push_back(RecordedOf(record, point.id).time);
  return PointSets(points, errors);
}
}  // namespace

Record RecordOf(const Evidence& evidence, const Judged& judged) {
  Record record;
  for (std::size_t i = 0; i < evidence.rows.size(); ++i) {
    Outcome outcome = judged.rows[i].Shortened();
    outcome.memory = Rounded(outcome.memory), outcome.time = Rounded(outcome.time);
    record[evidence.rows[i].id] = outcome;
  }
  for (std::size_t i = 0; i < evidence.points.size(); ++i) {
    Outcome& outcome = record[evidence.points[i].id];
    if (judged.points[i].time) outcome.time = Rounded(judged.points[i].time->error);
  }
  return record;
}

std::string PrintRecord(const Record& record) {
  std::string text = "id,memory,time,verdict\n";
  for (const auto& [id, outcome] : record)
    text += fmt::format("{},{},{},{}\n", id, Cell(outcome.memory), Cell(outcome.time),
                        outcome.verdict ? Name(*outcome.verdict) : "");
  return text;
}

Result<Record> ReadRecord(const std::string& path) {
  const Result<Csv> csv = Csv::Read(path);
  if (!csv) return tl::unexpected(csv.error());
  Record record;
  for (const char* name : {"id", "memory", "time", "verdict"})
    if (const Result<std::size_t> column = csv->Column(name); !column)
      return tl::unexpected(column.error());
  const std::size_t id = *csv->Column("id"), verdict = *csv->Column("verdict");
  for (std::size_t line = 0; line < csv->Lines(); ++line) {
    Outcome outcome;
    for (const auto& [name, error] :
         {std::pair{"memory", &outcome.memory}, std::pair{"time", &outcome.time}}) {
      const Result<std::optional<double>> value = ErrorOf(*csv, line, *csv->Column(name));
      if (!value) return tl::unexpected(value.error());
      *error = *value;
    }
    const std::string& word = csv->Text(line, verdict);
    for (const Verdict v : kVerdicts)
      if (word == Name(v)) outcome.verdict = v;
    if (!word.empty() && !outcome.verdict)
      return csv->Fail(line, verdict, "no such verdict", "fits, tight, oom, illegal or nothing");
    if (!record.emplace(csv->Text(line, id), outcome).second)
      return csv->Fail(line, id, "the id stands here twice", "a merge left both sides");
  }
  return record;
}

std::string Worsened(const Evidence& evidence, const Judged& judged, const Record& recorded) {
  const Record now = RecordOf(evidence, judged);
  Comparer comparer(recorded, now);
  const std::vector<GroupFigures> before =
      FiguresByGroup(evidence, judged.rows, OutcomesOf(evidence.rows, recorded));
  const std::vector<GroupFigures> after =
      FiguresByGroup(evidence, judged.rows, OutcomesOf(evidence.rows, now));
  for (std::size_t i = 0; i < after.size(); ++i) {
    std::vector<std::string> ids;
    for (const std::size_t row : MembersOf(after[i].name, evidence.rows))
      ids.push_back(evidence.rows[row].id);
    CompareGroup(before[i], after[i], ids, &comparer);
  }
  std::vector<std::string> points;
  for (const Point& point : evidence.points) points.push_back(point.id);
  const std::vector<PointSet> sets_before = PointSetsOf(evidence.points, recorded);
  for (const PointSet& set : PointSetsOf(evidence.points, now))
    for (const PointSet& earlier : sets_before)
      if (earlier.name == set.name)
        comparer.Errors("collectives " + set.name, earlier.time, set.time, points, &Outcome::time);
  return comparer.text();
}
}  // namespace shardplan::evidence
