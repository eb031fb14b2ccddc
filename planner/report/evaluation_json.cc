// SPDX-License-Identifier: Apache-2.0
// The `memory` and `time` objects of an evaluation.
#include "planner/report/check_report.h"

namespace shardplan {
namespace {

Json BytesJson(Bytes bytes) { return WholeNumber(bytes.value); }

Json AliveJson(const char* key, const std::vector<StageMemory::Alive>& all) {
  Json json = Json::array();
  for (const StageMemory::Alive& alive : all)
    json.push_back({{key, alive.instant}, {"allocated", BytesJson(alive.allocated)}});
  return json;
}

Json StageJson(const StageMemory& stage) {
  Json parts = Json::object(), series = Json::array(), at_peak = Json::array();
  for (int i = 0; i < kMemoryParts; ++i)
    parts[Name(static_cast<MemoryPart>(i))] = BytesJson(stage.parts[static_cast<std::size_t>(i)]);
  for (const StageMemory::Point& point : stage.series)
    series.push_back({{"when", point.when},
                      {"allocated", BytesJson(point.allocated)},
                      {"reserved", BytesJson(point.reserved)}});
  for (const Contributor& contributor : stage.at_peak)
    at_peak.push_back({{"part", Name(contributor.part)},
                       {"op", contributor.op},
                       {"what", contributor.what},
                       {"bytes", BytesJson(contributor.bytes)}});
  return {{"stage", stage.stage},     {"peak_allocated", BytesJson(stage.allocated)},
          {"instant", stage.instant}, {"parts", parts},
          {"at_peak", at_peak},       {"instants", AliveJson("instant", stage.instants)},
          {"series", series},         {"peaks", AliveJson("name", stage.peaks)}};
}

Json PeakJson(const Peak& peak, Bytes outside) {
  return {{"name", peak.name},
          {"stage", peak.stage},
          {"allocated", BytesJson(peak.allocated)},
          {"device", BytesJson(peak.allocated + outside)},
          {"host_per_node", BytesJson(peak.host)},
          {"why", peak.why}};
}
}  // namespace

Json MemoryJson(const Evaluation& evaluation) {
  Json stages = Json::array();
  for (const StageMemory& stage : evaluation.stages) stages.push_back(StageJson(stage));
  Json nccl = Json::object(), peaks = Json::array();
  for (int i = 0; i < kCommGroups; ++i)
    nccl[Name(static_cast<CommGroup>(i))] = BytesJson(evaluation.nccl[static_cast<std::size_t>(i)]);
  for (const Peak& peak : evaluation.peaks)
    peaks.push_back(PeakJson(peak, evaluation.context + evaluation.nccl.Sum()));
  return {{"capacity", BytesJson(evaluation.capacity)},
          {"peak_allocated", BytesJson(evaluation.peak_allocated)},
          {"peak_reserved", BytesJson(evaluation.peak_reserved)},
          {"peak_device", BytesJson(evaluation.peak_device)},
          {"interval",
           {BytesJson(evaluation.memory_interval[0]), BytesJson(evaluation.memory_interval[1])}},
          {"unavoidable", BytesJson(evaluation.step.unavoidable)},
          {"outside_allocator", {{"context", BytesJson(evaluation.context)}, {"nccl", nccl}}},
          {"host_per_node", BytesJson(evaluation.step.host)},
          {"nvme_per_node", BytesJson(evaluation.step.nvme)},
          {"peak_rank", evaluation.peak_rank},
          {"peaks", peaks},
          {"stages", stages}};
}

Json TimeJson(const Evaluation& evaluation) {
  Json parts = Json::object();
  for (int i = 0; i < kTimeParts; ++i)
    parts[Name(static_cast<TimePart>(i))] = evaluation.step.time[static_cast<std::size_t>(i)].value;
  return {{"step_seconds", evaluation.step.Time().value},
          {"interval", {evaluation.time_interval[0].value, evaluation.time_interval[1].value}},
          {"parts", parts},
          {"tokens_per_second_per_gpu", evaluation.tokens_per_second_per_gpu},
          {"samples_per_second", evaluation.samples_per_second},
          {"model_tflops_per_gpu", evaluation.model_flops_per_gpu / 1e12},
          {"hardware_tflops_per_gpu", evaluation.hardware_flops_per_gpu / 1e12},
          {"mfu", evaluation.mfu}};
}

std::optional<Run> RunOf(const Subject& subject, const Evaluation& evaluation) {
  const double tokens = subject.training->tokens, gpus = subject.machine->Gpus();
  const double rate = evaluation.tokens_per_second_per_gpu * gpus;
  if (tokens <= 0 || rate <= 0) return std::nullopt;
  Run run{.time = {tokens / rate}};
  run.gpu_hours = run.time.value / 3600 * gpus;
  run.cost = run.gpu_hours * subject.machine->price_per_gpu_hour;
  return run;
}

Json RunJson(const Run& run) {
  Json json = {{"seconds", run.time.value}, {"gpu_hours", run.gpu_hours}};
  if (run.cost > 0) json["cost"] = run.cost;
  return json;
}
}  // namespace shardplan
