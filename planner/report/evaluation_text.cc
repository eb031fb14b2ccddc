// SPDX-License-Identifier: Apache-2.0
#include "planner/report/evaluation_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/plan/axes.h"

namespace shardplan {
namespace {

double ShareOf(const Evaluation& evaluation, std::initializer_list<TimePart> parts) {
  const Seconds step = evaluation.step.Time();
  Seconds sum;
  for (const TimePart part : parts) sum += evaluation.step.time[static_cast<std::size_t>(part)];
  return step.value > 0 ? sum / step : 0;
}
// What decides the peak outside the step that decides the verdict.
std::string WhyText(const Evaluation& evaluation) {
  for (const Peak& peak : evaluation.peaks)
    if (evaluation.limit_at == peak.name) return ": " + peak.why;
  return "";
}
}  // namespace

double ExposedShare(const Evaluation& evaluation) {
  return ShareOf(evaluation,
                 {TimePart::kTensorComm, TimePart::kContextComm, TimePart::kExpertComm,
                  TimePart::kPipelineComm, TimePart::kParameterGather, TimePart::kGradientReduce});
}

double BubbleShare(const Evaluation& evaluation) {
  return ShareOf(evaluation, {TimePart::kPipelineBubble});
}

Tone ToneOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return Tone::kGood;
    case Verdict::kTight:
      return Tone::kWarning;
    case Verdict::kOom:
    case Verdict::kIllegal:
      return Tone::kBad;
  }
  return Tone::kPlain;
}

std::string AvailableText(const Evaluation& evaluation, Bytes reserve) {
  if (reserve.value <= 0) return FormatBytes(evaluation.capacity);
  return fmt::format("{} ({} less {} kept free)", FormatBytes(evaluation.capacity - reserve),
                     FormatBytes(evaluation.capacity), FormatBytes(reserve));
}

std::string LimitText(const Evaluation& evaluation, Bytes reserve) {
  if (evaluation.verdict == Verdict::kFits || evaluation.verdict == Verdict::kIllegal) return "";
  const std::string at = evaluation.limit_at.empty() ? "" : " at " + evaluation.limit_at;
  if (evaluation.limit == "host")
    return fmt::format("{} takes {} of a node's memory, more than it has{}",
                       evaluation.limit_at.empty() ? "the offloaded state" : evaluation.limit_at,
                       FormatBytes(evaluation.step.host), WhyText(evaluation));
  if (evaluation.limit == "nvme")
    return fmt::format("the offloaded state takes {} of a node's NVMe, more than it has",
                       FormatBytes(evaluation.step.nvme));
  const std::string available = AvailableText(evaluation, reserve);
  if (evaluation.verdict == Verdict::kTight && !at.empty())
    return fmt::format("{} are needed of {}{}, give or take a few percent{}",
                       FormatBytes(evaluation.step.unavoidable), available, at,
                       WhyText(evaluation));
  if (evaluation.verdict == Verdict::kTight)
    return fmt::format("caches of the allocator may take it up to {} of {}; expect to tune",
                       FormatBytes(evaluation.peak_device), available);
  return fmt::format("at least {} are needed of {}{}, and no allocator setting changes that{}",
                     FormatBytes(evaluation.step.unavoidable), available, at, WhyText(evaluation));
}

std::string HintLines(const std::vector<Hint>& hints, const Evaluation* instead_of,
                      const Look& look) {
  std::string text;
  for (const Hint& hint : hints) {
    const Evaluation& evaluation = hint.evaluation;
    std::string cost;
    if (instead_of != nullptr && instead_of->step.Time().value > 0) {
      const double slower = evaluation.step.Time() / instead_of->step.Time() - 1;
      cost = fmt::format(" at {:+.0f}% step time", 100 * slower);
    } else {
      cost = fmt::format(", step {}", FormatSeconds(evaluation.step.Time()));
    }
    text += fmt::format("  {} {} {} in {} of {}{}\n", Colored("try:", Tone::kBold, look),
                        fmt::join(hint.changes, ", "),
                        evaluation.verdict == Verdict::kTight ? "fits tightly" : "fits",
                        FormatBytes(evaluation.step.unavoidable), FormatBytes(evaluation.capacity),
                        cost);
  }
  return text;
}

Json HintsJson(const std::vector<Hint>& hints) {
  Json json = Json::array();
  for (const Hint& hint : hints)
    json.push_back({{"changes", hint.changes},
                    {"plan", PlanJson(hint.evaluation.plan)},
                    {"memory_needed", WholeNumber(hint.evaluation.step.unavoidable.value)},
                    {"step_seconds", hint.evaluation.step.Time().value}});
  return json;
}

std::string Words(std::string_view name) {
  std::string words(name);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}
}  // namespace shardplan
