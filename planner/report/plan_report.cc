// SPDX-License-Identifier: Apache-2.0
#include "planner/report/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "planner/rank/chance.h"
#include "planner/report/check_report.h"
#include "planner/report/evaluation_text.h"
#include "planner/report/plan_text.h"

namespace shardplan {
namespace {

std::string_view Name(Objective objective) {
  switch (objective) {
    case Objective::kThroughput:
      return "throughput";
    case Objective::kMemory:
      return "memory";
    case Objective::kCost:
      return "cost";
    case Objective::kGpus:
      return "gpus";
  }
  return "";
}

// What a row has before and after the columns of its plan.
struct Figures {
  std::vector<std::string> before, after;
};

std::string PlanTable(std::vector<Table::Column> before, std::vector<Table::Column> after,
                      const std::vector<const Plan*>& plans, const std::vector<Figures>& figures,
                      const Look& look) {
  const std::vector<const Axis*> axes = ColumnsOf(plans);
  std::vector<Table::Column> columns = std::move(before);
  for (const Axis* axis : axes) {
    const bool number = axis->json(Plan{}).is_number();
    columns.push_back(
        {std::string(axis->column), number ? Table::Align::kRight : Table::Align::kLeft});
  }
  columns.insert(columns.end(), after.begin(), after.end());
  Table table(std::move(columns));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    std::vector<std::string> cells = figures[i].before;
    for (const Axis* axis : axes) cells.push_back(axis->Text(*plans[i]));
    cells.insert(cells.end(), figures[i].after.begin(), figures[i].after.end());
    table.Add(std::move(cells), i == 0 ? Tone::kBold : Tone::kPlain);
  }
  return table.Print(look);
}

std::string RankedTable(const std::vector<Ranked>& ranked, const Machine& machine,
                        Objective objective, const Look& look) {
  const std::vector<double> chances = ChancesOfBest(ranked, machine, objective);
  std::vector<const Plan*> plans;
  std::vector<Figures> figures;
  const bool ties = ranked.back().tie != ranked.back().rank;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const Ranked& r = ranked[i];
    const Evaluation& evaluation = r.evaluation;
    plans.push_back(&evaluation.plan);
    figures.push_back({{fmt::format("{}", r.rank), ties ? fmt::format("{}", r.tie) : "",
                        FormatSeconds(evaluation.step.Time()), FormatPercent(evaluation.mfu),
                        FormatBytes(evaluation.peak_device)},
                       {FormatPercent(ExposedShare(evaluation)),
                        FormatPercent(BubbleShare(evaluation)), FormatPercent(chances[i]),
                        evaluation.verdict == Verdict::kTight
                            ? fmt::format("tight, oom {}", FormatPercent(evaluation.p_oom))
                            : ""}});
  }
  return PlanTable({{"rank"}, {"tie"}, {"step"}, {"MFU"}, {"memory"}},
                   {{"exposed comm"}, {"bubble"}, {"best"}, {"fit", Table::Align::kLeft}}, plans,
                   figures, look);
}

std::string NearestTable(const std::vector<Nearest>& nearest, const Look& look) {
  std::vector<const Plan*> plans;
  std::vector<Figures> figures;
  for (const Nearest& near : nearest) {
    plans.push_back(&near.evaluation.plan);
    figures.push_back({{FormatBytes(near.missing), near.evaluation.limit,
                        FormatBytes(near.evaluation.step.unavoidable),
                        FormatSeconds(near.evaluation.step.Time())},
                       {}});
  }
  return PlanTable({{"missing"}, {"of", Table::Align::kLeft}, {"memory"}, {"step"}}, {}, plans,
                   figures, look);
}

// Plans by what rejected them; a rule is explained where the spec's first plan breaks it.
std::string RejectedTable(const SearchResult& result, const std::vector<Reason>& reasons,
                          const Look& look) {
  std::vector<std::pair<std::string, double>> counts(result.rejected.begin(),
                                                     result.rejected.end());
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  Table table({{"plans"}, {"rejected by", Table::Align::kLeft}, {"", Table::Align::kLeft}});
  for (const auto& [name, count] : counts) {
    if (count <= 0) continue;
    const auto broken = std::find_if(reasons.begin(), reasons.end(),
                                     [&rule = name](const Reason& r) { return r.rule == rule; });
    table.Add({FormatCount(count), name, broken != reasons.end() ? broken->text : ""});
  }
  return table.Empty() ? "" : table.Print(look);
}

// How much of the domain was gone through.
std::string CoveredText(const SearchResult& result, const Look& look) {
  const std::string plans = FormatCount(result.covered) + " plans";
  if (result.complete) return plans + " covered";
  return Colored("stopped early", Tone::kWarning, look) + " among " + plans;
}

std::string WhyNothingFits(const Subject& subject, const SearchResult& result,
                           const NothingFits& instead, const Look& look) {
  if (!result.complete)
    return fmt::format("{} in {}; {} evaluated, and none that fits found so far\n",
                       CoveredText(result, look), FormatSeconds({result.seconds}),
                       FormatCount(result.evaluated));
  std::string text =
      fmt::format("{}: {} considered in {}\n", Colored("no plan fits", Tone::kBad, look),
                  FormatCount(result.covered), FormatSeconds({result.seconds}));
  const bool judged = !result.nearest.empty();
  if (judged) {
    const Evaluation& closest = result.nearest.front().evaluation;
    text += "the closest plans, and what they miss of " +
            AvailableText(closest, subject.memory_reserve) + "\n" +
            NearestTable(result.nearest, look);
  } else {
    text += "no plan obeys all rules\n";
  }
  text += RejectedTable(result, instead.reasons, look);
  if (instead.hints.empty() && judged) text += "  nothing that was tried instead fits either\n";
  return text +
         HintLines(instead.hints, judged ? &result.nearest.front().evaluation : nullptr, look) +
         BasisLine(*subject.machine);
}
}  // namespace

std::string PlanReport(const Subject& subject, const SearchResult& result,
                       const SearchOptions& options, const NothingFits& instead, const Look& look) {
  std::string text = Headline(subject);
  if (result.plans.empty()) return text + WhyNothingFits(subject, result, instead, look);
  text += fmt::format("{} in {}; {} evaluated, {} of them fit; best {} of {} kept{}\n",
                      CoveredText(result, look), FormatSeconds({result.seconds}),
                      FormatCount(result.evaluated), FormatCount(result.fitting),
                      result.plans.size(), options.keep,
                      options.objective == Objective::kThroughput
                          ? ""
                          : fmt::format(", by {}", Name(options.objective)));
  text += RankedTable(result.plans, *subject.machine, options.objective, look);
  const Evaluation& best = result.plans.front().evaluation;
  text += fmt::format("memory: what nvidia-smi shows on the fullest GPU, of {}\n",
                      AvailableText(best, subject.memory_reserve));
  return text + BasisLine(*subject.machine);
}

Json SearchJson(const Subject& subject, const SearchResult& result, const SearchOptions& options,
                const NothingFits& instead) {
  Json rejected = Json::object();
  for (const auto& [reason, count] : result.rejected)
    if (count > 0) rejected[reason] = WholeNumber(count);
  Json json{{"schema", kSchema},
            {"version", subject.version},
            {"spec_hash", subject.spec_hash},
            {"model", SubjectJson(subject)},
            {"cluster", ClusterJson(*subject.machine)},
            {"searched",
             {{"covered", WholeNumber(result.covered)},
              {"evaluated", WholeNumber(result.evaluated)},
              {"fitting", WholeNumber(result.fitting)},
              {"threads", result.threads},
              {"seconds", result.seconds},
              {"objective", Name(options.objective)},
              {"complete", result.complete},
              {"rejected", rejected}}},
            {"plans", Json::array()}};
  const std::vector<double> chances =
      ChancesOfBest(result.plans, *subject.machine, options.objective);
  for (std::size_t i = 0; i < result.plans.size(); ++i) {
    const Ranked& ranked = result.plans[i];
    const Evaluation& evaluation = ranked.evaluation;
    json["plans"].push_back({{"rank", ranked.rank},
                             {"plan", PlanJson(evaluation.plan)},
                             {"verdict", shardplan::Name(evaluation.verdict)},
                             {"p_oom", evaluation.p_oom},
                             {"memory", MemoryJson(evaluation)},
                             {"time", TimeJson(evaluation)},
                             {"basis", Basis(*subject.machine)},
                             {"tie", ranked.tie},
                             {"p_best", chances[i]}});
    if (const std::optional<Run> run = RunOf(subject, evaluation))
      json["plans"].back()["run"] = RunJson(*run);
  }
  if (result.plans.empty()) {
    json["nearest"] = Json::array();
    for (const Nearest& near : result.nearest)
      json["nearest"].push_back({{"plan", PlanJson(near.evaluation.plan)},
                                 {"missing", WholeNumber(near.missing.value)},
                                 {"limit", near.evaluation.limit},
                                 {"memory", MemoryJson(near.evaluation)},
                                 {"time", TimeJson(near.evaluation)}});
    json["hints"] = HintsJson(instead.hints);
    json["reasons"] = ReasonsJson(instead.reasons);
  }
  json["basis"] = Basis(*subject.machine);
  return json;
}
}  // namespace shardplan
