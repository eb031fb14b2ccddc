// SPDX-License-Identifier: Apache-2.0
#include "tests/evidence/judge.h"

#include <fmt/format.h>

#include "planner/report/collectives_report.h"
#include "planner/search/parallel.h"
#include "planner/space/space.h"
#include "planner/spec/problem.h"

namespace shardplan::evidence {
namespace {

constexpr double kGiB = 0x1p30;

// The first line of an error, less the place in a text that nobody sees.
std::string FirstLine(const Error& error) {
  const std::string line = error.message.substr(0, error.message.find('\n'));
  const std::size_t place = line.find(": ");
  return line.starts_with("spec:") && place != std::string::npos ? line.substr(place + 2) : line;
}

template <class Quantity>
Comparison::Interval IntervalOf(const std::array<Quantity, 2>& range, double unit,
                                const Comparison& comparison) {
  const double low = range[0].value / unit, high = range[1].value / unit;
  return {.covers = low <= comparison.measured && comparison.measured <= high,
          .half_width = (high - low) / 2 / comparison.predicted};
}

Comparison CompareMemory(const MeasuredMemory& measured, const Evaluation& evaluation) {
  const Bytes predicted = measured.last_stage ? evaluation.stages.back().allocated
                          : measured.kind == MemoryKind::kDevice   ? evaluation.peak_device
                          : measured.kind == MemoryKind::kReserved ? evaluation.peak_reserved
                                                                   : evaluation.peak_allocated;
  Comparison result{.predicted = predicted.value / kGiB, .measured = measured.peak.value / kGiB};
  result.error = result.predicted / result.measured - 1;
  if (measured.kind == MemoryKind::kAllocated && !measured.last_stage)
    result.interval = IntervalOf(evaluation.memory_interval, kGiB, result);
  return result;
}

// Rates turn over: a rate that is too low is a step that is too long.
Comparison CompareTime(const MeasuredTime& measured, const Evaluation& evaluation,
                       double flops_per_token) {
  Comparison result{.measured = measured.value};
  switch (measured.rate) {
    case Rate::kStepSeconds:
      result.predicted = evaluation.step.Time().value;
      result.error = result.predicted / result.measured - 1;
      result.interval = IntervalOf(evaluation.time_interval, 1, result);
      return result;
    case Rate::kTokensPerGpu:
      result.predicted = evaluation.tokens_per_second_per_gpu;
      break;
    case Rate::kTeraflopsPerGpu:
      result.predicted = (measured.hardware_flops ? evaluation.hardware_flops_per_gpu
                                                  : evaluation.model_flops_per_gpu) /
                         1e12 * (1 - measured.not_counted / flops_per_token);
      break;
    case Rate::kSamples:
      result.predicted = evaluation.samples_per_second;
      break;
  }
  result.error = result.measured / result.predicted - 1;
  return result;
}

std::string Joined(const std::vector<Reason>& broken) {
  std::string text;
  for (const Reason& reason : broken)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", reason.rule, reason.text);
  return text;
}
}  // namespace

Outcome Judgement::Shortened() const {
  Outcome outcome{.verdict = verdict};
  if (memory) outcome.memory = memory->error;
  if (time) outcome.time = time->error;
  return outcome;
}

Judgement Judge(const Row& row) {
  Judgement judgement;
  const Result<Problem> problem = ParseProblem(row.spec.dump(), "spec", {}, Needs::kAll);
  if (!problem) {
    judgement.refusal = FirstLine(problem.error());
    return judgement;
  }
  const auto& [model, machine, training] =
      std::tie(problem->model, problem->machine, problem->training);
  const Plan plan = FixedPlan(*problem);
  if (const std::vector<Reason> broken = BrokenRules(model, machine, training, plan);
      !broken.empty()) {
    judgement.verdict = Verdict::kIllegal;
    judgement.refusal = Joined(broken);
    return judgement;
  }
  const Evaluation evaluation = Evaluate(JobOf(*problem), plan);
  judgement.verdict = evaluation.verdict;
  judgement.capacity = evaluation.capacity;
  judgement.needed = evaluation.step.unavoidable;
  if (row.parameters > 0) judgement.parameters_off = CountParameters(model).total - row.parameters;
  if (row.memory) judgement.memory = CompareMemory(*row.memory, evaluation);
  if (row.time)
    judgement.time =
        CompareTime(*row.time, evaluation, ModelFlopsPerToken(model, training.seq_length));
  return judgement;
}

std::vector<Judgement> JudgeAll(const std::vector<Row>& rows, int threads) {
  std::vector<Judgement> judgements(rows.size());
  ParallelFor(threads, 0, rows.size(), [&](int, std::size_t i) {
    if (rows[i].too_little.empty()) judgements[i] = Judge(rows[i]);
  });
  return judgements;
}

std::vector<PointJudgement> JudgePoints(const Evidence& evidence) {
  std::vector<Result<Problem>> problems;
  std::vector<Communicator> communicators;
  for (const Testbed& testbed : evidence.testbeds) {
    problems.push_back(testbed.not_covered.empty()
                           ? ParseProblem(nlohmann::json{{"cluster", testbed.cluster}}.dump(),
                                          "spec", {}, Needs::kCluster)
                           : NotFound(testbed.not_covered));
    communicators.push_back(
        problems.back() ? Communicator(problems.back()->machine, {problems.back()->machine.Gpus()})
                        : Communicator());
  }
  std::vector<PointJudgement> judgements(evidence.points.size());
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    const Point& point = evidence.points[i];
    if (!problems[point.testbed]) {
      judgements[i].refusal = FirstLine(problems[point.testbed].error());
      continue;
    }
    const Communicator& communicator = communicators[point.testbed];
    const CollectiveAnswer answer{point.op, communicator.group(), point.bytes,
                                  communicator.Explain(point.op, point.bytes)};
    if (point.time) {
      const double predicted = answer.predicted.time.value, measured = point.time->value;
      judgements[i].time =
          Comparison{predicted * 1e6, measured * 1e6, predicted / measured - 1, {}};
    } else if (point.bus_bandwidth) {
      const double predicted = BusBandwidth(answer).value, measured = point.bus_bandwidth->value;
      judgements[i].time =
          Comparison{predicted * 1e-9, measured * 1e-9, measured / predicted - 1, {}};
    }
  }
  return judgements;
}
}  // namespace shardplan::evidence
