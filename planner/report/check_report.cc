// SPDX-License-Identifier: Apache-2.0
#include "planner/report/check_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "planner/report/evaluation_text.h"
#include "planner/report/plan_text.h"

namespace shardplan {
namespace {

constexpr int kBar = 30;

// GiB in a column whose header says so.
std::string InGib(Bytes bytes) {
  return bytes.value == 0 ? "" : fmt::format("{:.2f}", bytes.value / (1 << 30));
}

const StageMemory* FullestStage(const Evaluation& evaluation) {
  const auto fullest = std::max_element(
      evaluation.stages.begin(), evaluation.stages.end(),
      [](const StageMemory& a, const StageMemory& b) { return a.allocated < b.allocated; });
  return fullest == evaluation.stages.end() ? nullptr : &*fullest;
}

std::string VerdictLine(const Evaluation& evaluation, const Look& look) {
  std::string text = fmt::format(
      "verdict: {}   {} of {} on the fullest GPU (rank {})",
      Colored(Name(evaluation.verdict), ToneOf(evaluation.verdict), look),
      FormatBytes(evaluation.peak_device), FormatBytes(evaluation.capacity), evaluation.peak_rank);
  text += fmt::format(", chance of running out of memory {}",
                      evaluation.p_oom < 0.0005 ? "under 0.1%" : FormatPercent(evaluation.p_oom));
  if (evaluation.step.host.value > 0)
    text += fmt::format("; host {} per node", FormatBytes(evaluation.step.host));
  if (evaluation.step.nvme.value > 0)
    text += fmt::format("; NVMe {} per node", FormatBytes(evaluation.step.nvme));
  return text + "\n";
}

std::string StageTable(const Evaluation& evaluation, const Look& look) {
  std::vector<Table::Column> columns{{"stage"}, {"allocated"}};
  for (int part = 0; part < kMemoryParts; ++part)
    columns.push_back({Words(Name(static_cast<MemoryPart>(part)))});
  columns.push_back({"peaks at", Table::Align::kLeft});
  Table table(std::move(columns));
  for (const StageMemory& stage : evaluation.stages) {
    std::vector<std::string> cells{fmt::format("{}", stage.stage), InGib(stage.allocated)};
    for (const Bytes part : stage.parts) cells.push_back(InGib(part));
    cells.emplace_back(stage.instant);
    table.Add(std::move(cells));
  }
  return "memory of each stage at its peak, GiB\n" + table.Print(look);
}

// What fills the device, from the weights to what no allocator sees.
std::string Waterfall(const Evaluation& evaluation, const StageMemory& stage, const Look& look) {
  Table table({{"", Table::Align::kLeft}, {"GiB"}, {"share"}, {"", Table::Align::kLeft}});
  const auto add = [&](std::string name, Bytes bytes, Tone tone) {
    if (bytes.value <= 0) return;
    const double share = bytes / evaluation.capacity;
    table.Add({std::move(name), InGib(bytes), FormatPercent(share), Bar(share, kBar, look)}, tone);
  };
  for (int part = 0; part < kMemoryParts; ++part)
    add(Words(Name(static_cast<MemoryPart>(part))), stage.parts[static_cast<std::size_t>(part)],
        Tone::kPlain);
  add("allocated", evaluation.peak_allocated, Tone::kBold);
  const Bytes held = evaluation.peak_reserved - evaluation.peak_allocated;
  const Bytes between = std::min(held, Max(stage.pinned - stage.allocated, Bytes{}));
  add("free between tensors", between, Tone::kPlain);
  add("cached, given back in need", held - between, Tone::kPlain);
  add("reserved", evaluation.peak_reserved, Tone::kBold);
  add("CUDA context, libraries", evaluation.context, Tone::kPlain);
  for (int i = 0; i < kCommGroups; ++i)
    add(fmt::format("NCCL, {} group", Name(static_cast<CommGroup>(i))),
        evaluation.nccl[static_cast<std::size_t>(i)], Tone::kPlain);
  add("device", evaluation.peak_device, Tone::kBold);
  add("free", evaluation.capacity - evaluation.peak_device, Tone::kDim);
  const auto largest = std::max_element(stage.parts.begin(), stage.parts.end());
  return fmt::format(
             "stage {} at its peak, {}: {} take the most; allocated {} to {} in 4 of 5 cases\n",
             stage.stage, stage.instant,
             Words(Name(static_cast<MemoryPart>(largest - stage.parts.begin()))),
             FormatBytes(evaluation.memory_interval[0]),
             FormatBytes(evaluation.memory_interval[1])) +
         table.Print(look);
}

// The tensors that take the most at the peak.
std::string Contributors(const StageMemory& stage, const Look& look) {
  constexpr std::size_t kShown = 8;
  Table table({{"op", Table::Align::kLeft}, {"tensors", Table::Align::kLeft}, {"GiB"}});
  Bytes rest;
  for (std::size_t i = 0; i < stage.at_peak.size(); ++i) {
    const Contributor& c = stage.at_peak[i];
    if (i < kShown)
      table.Add({c.op, c.what, InGib(c.bytes)});
    else
      rest += c.bytes;
  }
  if (rest.value > 0)
    table.Add({fmt::format("{} others", stage.at_peak.size() - kShown), "", InGib(rest)});
  return "what takes the most then\n" + table.Print(look);
}

std::string Series(const StageMemory& stage, const Look& look) {
  Table table(
      {{"instant", Table::Align::kLeft}, {"allocated"}, {"reserved"}, {"", Table::Align::kLeft}});
  for (const StageMemory::Point& point : stage.series)
    table.Add({point.when, InGib(point.allocated), InGib(point.reserved),
               Bar(point.allocated / Max(stage.allocated, Bytes{1}), kBar, look)});
  return fmt::format("stage {} over a step, GiB\n", stage.stage) + table.Print(look);
}

// Moments outside the steady step, each on the stage that is fullest then.
std::string PeaksTable(const Evaluation& evaluation, const Look& look) {
  Table table({{"", Table::Align::kLeft},
               {"allocated"},
               {"device"},
               {"host a node"},
               {"", Table::Align::kLeft}});
  const Bytes outside = evaluation.context + evaluation.nccl.Sum();
  for (const Peak& peak : evaluation.peaks)
    table.Add({peak.name, InGib(peak.allocated), InGib(peak.allocated + outside), InGib(peak.host),
               peak.why},
              evaluation.limit_at == peak.name ? Tone::kBad : Tone::kPlain);
  return "outside the step, GiB\n" + table.Print(look);
}

std::string TimeTable(const Evaluation& evaluation, const Look& look) {
  const Seconds step = evaluation.step.Time();
  Table table({{"", Table::Align::kLeft}, {"time"}, {"share"}, {"", Table::Align::kLeft}});
  for (int i = 0; i < kTimeParts; ++i) {
    const Seconds part = evaluation.step.time[static_cast<std::size_t>(i)];
    if (part.value <= 0) continue;
    table.Add({Words(Name(static_cast<TimePart>(i))), FormatSeconds(part),
               FormatPercent(part / step), Bar(part / step, kBar, look)});
  }
  table.Add({"step", FormatSeconds(step), "", ""}, Tone::kBold);
  return fmt::format("time of a step: {}; {} to {} in 4 of 5 cases\n", FormatSeconds(step),
                     FormatSeconds(evaluation.time_interval[0]),
                     FormatSeconds(evaluation.time_interval[1])) +
         table.Print(look);
}

std::string Throughput(const Subject& subject, const Evaluation& evaluation) {
  std::string text = fmt::format(
      "throughput: {} tokens/s per GPU, {} samples/s; {:.0f} model TFLOP/s per GPU ({} MFU), "
      "{:.0f} "
      "executed\n",
      FormatCount(evaluation.tokens_per_second_per_gpu),
      FormatFigure(evaluation.samples_per_second), evaluation.model_flops_per_gpu / 1e12,
      FormatPercent(evaluation.mfu), evaluation.hardware_flops_per_gpu / 1e12);
  if (const std::optional<Run> run = RunOf(subject, evaluation)) {
    text += fmt::format("the run: {} tokens in {}, {} GPU-hours",
                        FormatScaled(subject.training->tokens), FormatSeconds(run->time),
                        FormatCount(run->gpu_hours));
    if (run->cost > 0) text += fmt::format(", {} for the GPUs", FormatCount(run->cost));
    text += "\n";
  }
  return text;
}

// What the answers of `check` begin with.
Json HeadJson(const Subject& subject, const Plan& plan) {
  return {{"schema", kSchema},
          {"version", subject.version},
          {"spec_hash", subject.spec_hash},
          {"model", SubjectJson(subject)},
          {"cluster", ClusterJson(*subject.machine)},
          {"plan", PlanJson(plan)}};
}
}  // namespace

std::string CheckReport(const Subject& subject, const Evaluation& evaluation,
                        const std::vector<Hint>& hints, const Look& look) {
  std::string text = Headline(subject) + "plan: " + PlanText(evaluation.plan) + "\n" +
                     VerdictLine(evaluation, look);
  if (evaluation.verdict != Verdict::kFits)
    text += "  " + LimitText(evaluation, subject.memory_reserve) + "\n";
  text += HintLines(hints, &evaluation, look) + "\n" + StageTable(evaluation, look);
  if (const StageMemory* fullest = FullestStage(evaluation)) {
    text += "\n" + Waterfall(evaluation, *fullest, look);
    if (!fullest->at_peak.empty()) text += "\n" + Contributors(*fullest, look);
    if (!fullest->series.empty()) text += "\n" + Series(*fullest, look);
  }
  if (!evaluation.peaks.empty()) text += "\n" + PeaksTable(evaluation, look);
  return text + "\n" + TimeTable(evaluation, look) + "\n" + Throughput(subject, evaluation) +
         BasisLine(*subject.machine);
}

std::string IllegalReport(const Subject& subject, const Plan& plan,
                          const std::vector<Reason>& broken, const Look& look) {
  std::string text = Headline(subject) + "plan: " + PlanText(plan) + "\n" + "verdict: " +
                     Colored(Name(Verdict::kIllegal), ToneOf(Verdict::kIllegal), look) + "\n";
  Table table({{"rule", Table::Align::kLeft}, {"", Table::Align::kLeft}});
  for (const Reason& reason : broken) table.Add({reason.rule, reason.text});
  return text + table.Print(look);
}

Json CheckJson(const Subject& subject, const Evaluation& evaluation,
               const std::vector<Hint>& hints) {
  Json reasons = Json::array();
  if (evaluation.verdict != Verdict::kFits)
    reasons.push_back({{"rule", evaluation.limit == "nvme" ? "host" : evaluation.limit},
                       {"text", LimitText(evaluation, subject.memory_reserve)}});
  Json json = HeadJson(subject, evaluation.plan);
  json["verdict"] = Name(evaluation.verdict);
  json["p_oom"] = evaluation.p_oom;
  json["reasons"] = reasons;
  json["memory"] = MemoryJson(evaluation);
  json["time"] = TimeJson(evaluation);
  if (const std::optional<Run> run = RunOf(subject, evaluation)) json["run"] = RunJson(*run);
  if (!hints.empty()) json["hints"] = HintsJson(hints);
  json["basis"] = Basis(*subject.machine);
  return json;
}

Json ReasonsJson(const std::vector<Reason>& reasons) {
  Json json = Json::array();
  for (const Reason& reason : reasons)
    json.push_back({{"rule", reason.rule}, {"text", reason.text}});
  return json;
}

Json IllegalJson(const Subject& subject, const Plan& plan, const std::vector<Reason>& broken) {
  Json json = HeadJson(subject, plan);
  json["verdict"] = Name(Verdict::kIllegal);
  json["reasons"] = ReasonsJson(broken);
  json["basis"] = Basis(*subject.machine);
  return json;
}
}  // namespace shardplan
