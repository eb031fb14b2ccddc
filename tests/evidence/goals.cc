// SPDX-License-Identifier: Apache-2.0
#include "tests/evidence/goals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "planner/spec/catalogue.h"
#include "planner/spec/reader.h"
#include "tests/evidence/evidence.pb.h"

namespace shardplan::evidence {
namespace {

std::string Percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

// Collects "median 3.1%" beside "median <= 2%", and whether all of it holds. Figures are compared
// as they are printed.
class Line {
 public:
  Line(std::string what, std::string name, int rows)
      : line_{.what = std::move(what),
              .name = std::move(name),
              .rows = fmt::format("{}", rows),
              .reached = rows > 0} {}

  void AtMost(const std::string& word, double now, double limit_percent) {
    Add(fmt::format("{} {}", word, Percent(now)), fmt::format("{} <= {:g}%", word, limit_percent),
        Tenths(100 * now) <= limit_percent);
  }
  void Add(const std::string& now, const std::string& goal, bool reached) {
    line_.now += (line_.now.empty() ? "" : ", ") + now;
    line_.goal += (line_.goal.empty() ? "" : ", ") + goal;
    line_.reached = line_.reached && reached;
  }
  const GoalLine& Done() const { return line_; }

  static double Tenths(double percent) { return std::round(percent * 10) / 10; }

 private:
  GoalLine line_;
};

bool Fits(const std::string& id, const std::vector<std::regex>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::regex& pattern) {
    return std::regex_search(id, pattern, std::regex_constants::match_continuous);
  });
}

// Signed errors of the rows or points that a goal is about.
std::vector<double> ErrorsFor(const file::Goal& goal, const Evidence& evidence,
                              const Judged& judged) {
  std::vector<std::regex> patterns;
  for (const std::string& text : goal.rows()) patterns.emplace_back(text);
  std::vector<double> errors;
  for (std::size_t i = 0; i < evidence.rows.size(); ++i) {
    const Row& row = evidence.rows[i];
    const std::optional<Comparison>& comparison =
        goal.figure() == file::FIGURE_MEMORY ? judged.rows[i].memory : judged.rows[i].time;
    if (comparison && Fits(row.id, patterns) && !(goal.fully_stated() && row.assumed))
      errors.push_back(comparison->error);
  }
  return errors;
}

std::vector<double> PointErrorsFor(const file::Goal& goal, const Evidence& evidence,
                                   const Judged& judged) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < evidence.points.size(); ++i)
    for (const std::string& set : goal.rows())
      if (judged.points[i].time && InPointSet(evidence.points[i], set))
        errors.push_back(judged.points[i].time->error);
  return errors;
}

GoalLine LineOf(const file::Goal& goal, const Evidence& evidence, const Judged& judged) {
  const bool points = goal.figure() == file::FIGURE_COLLECTIVES;
  const Errors errors =
      ErrorsOf(points ? PointErrorsFor(goal, evidence, judged) : ErrorsFor(goal, evidence, judged));
  Line line(points                                 ? "collectives"
            : goal.figure() == file::FIGURE_MEMORY ? "memory"
                                                   : "step time",
            goal.name(), errors.rows);
  if (goal.has_mean()) line.AtMost("mean", errors.mean, goal.mean());
  if (goal.has_median()) line.AtMost("median", errors.median, goal.median());
  if (goal.has_p90()) line.AtMost("90% within", errors.p90, goal.p90());
  if (goal.has_worst()) line.AtMost("worst", errors.worst, goal.worst());
  if (goal.has_bias())
    line.Add(fmt::format("bias {:+.1f}%", 100 * errors.bias),
             fmt::format("bias within {:g}%", goal.bias()),
             Line::Tenths(100 * std::abs(errors.bias)) <= goal.bias());
  if (goal.has_regret()) {
    const double regret = ChoicesOf(goal.rows(0), evidence.rows, judged.rows).mean_regret;
    line.Add(fmt::format("mean regret {:.3f}", regret),
             fmt::format("mean regret <= {:g}", goal.regret()),
             std::round(regret * 1000) / 1000 <= goal.regret());
  }
  return line.Done();
}

double Share(int part, int whole) { return whole > 0 ? static_cast<double>(part) / whole : 0; }

std::vector<GoalLine> FitLines(const file::Goals& goals, const FitCounts& fit) {
  Line ran("fit", "runs called oom", fit.ran);
  ran.Add(fmt::format("{}", fit.false_oom), "none", fit.false_oom == 0);
  Line oom("fit", "runs out of memory, called oom or tight", fit.oom);
  const double caught = Share(fit.oom - fit.false_fit, fit.oom);
  oom.Add(Percent(caught), fmt::format(">= {:g}%", goals.oom_caught()),
          Line::Tenths(100 * caught) >= goals.oom_caught());
  Line roomy("fit", "runs below 80 % of the device, called tight", fit.roomy);
  const double tight = Share(fit.roomy_tight, fit.roomy);
  roomy.Add(Percent(tight), fmt::format("<= {:g}%", goals.roomy_tight()),
            Line::Tenths(100 * tight) <= goals.roomy_tight());
  return {ran.Done(), oom.Done(), roomy.Done()};
}

GoalLine IntervalLine(const file::Goals& goals, const std::string& what,
                      const std::vector<const Comparison*>& comparisons) {
  const Coverage coverage = CoverageOf(comparisons);
  Line line("intervals", what, coverage.rows);
  const double covered = Share(coverage.covered, coverage.rows);
  line.Add(Percent(covered) + " covered",
           fmt::format("{:g}% to {:g}%", goals.covered_least(), goals.covered_most()),
           Line::Tenths(100 * covered) >= goals.covered_least() &&
               Line::Tenths(100 * covered) <= goals.covered_most());
  line.Add(fmt::format("half-width {}, {:.1f} median errors", Percent(coverage.half_width),
                       coverage.HalfWidths()),
           fmt::format("<= {:g} median errors", goals.half_width()),
           Line::Tenths(coverage.HalfWidths()) <= goals.half_width());
  return line.Done();
}

GoalLine CorrelationLine(const file::Goals& goals, const Evidence& evidence, const Judged& judged) {
  const std::vector<PlanSet> sets = PlanSets(evidence.rows, judged.rows);
  const double mean = MeanCorrelation(sets);
  Line line("order", "plans of one model, rank correlation", static_cast<int>(sets.size()));
  line.Add(fmt::format("mean {:.3f}", mean), fmt::format(">= {:g}", goals.correlation()),
           mean >= goals.correlation());
  return line.Done();
}

Result<file::Goals> ReadFile(const std::string& path) {
  const Result<SourcePtr> source = ReadSource(path, {});
  if (!source) return tl::unexpected(source.error());
  file::Goals goals;
  SourceMap map;
  if (Result<void> done = ReadMessage(*source, &goals, &map); !done)
    return tl::unexpected(done.error());
  for (int i = 0; i < goals.goals_size(); ++i) {
    const std::string key_path = fmt::format("goals[{}]", i);
    if (!goals.goals(i).has_name() || !goals.goals(i).has_figure() || goals.goals(i).rows().empty())
      return InvalidAt(map.ValueOrParent(key_path), key_path, "needs name, figure and rows", "");
  }
  return goals;
}
}  // namespace

Result<std::vector<GoalLine>> ReadGoals(const std::string& path, const Evidence& evidence,
                                        const Judged& judged) {
  const Result<file::Goals> goals = ReadFile(path);
  if (!goals) return tl::unexpected(goals.error());
  std::vector<GoalLine> lines;
  for (const file::Goal& goal : goals->goals()) lines.push_back(LineOf(goal, evidence, judged));
  std::vector<Outcome> outcomes;
  std::vector<const Comparison*> memory, time;
  for (const Judgement& judgement : judged.rows) {
    outcomes.push_back(judgement.Shortened());
    if (judgement.memory) memory.push_back(&*judgement.memory);
    if (judgement.time) time.push_back(&*judgement.time);
  }
  const FitCounts fit =
      FiguresOf("all", AllMembers(evidence.rows), evidence.rows, judged.rows, outcomes).fit;
  for (const GoalLine& line : FitLines(*goals, fit)) lines.push_back(line);
  lines.push_back(IntervalLine(*goals, "memory", memory));
  lines.push_back(IntervalLine(*goals, "step time", time));
  lines.push_back(CorrelationLine(*goals, evidence, judged));
  return lines;
}
}  // namespace shardplan::evidence
