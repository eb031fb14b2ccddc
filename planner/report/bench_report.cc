// SPDX-License-Identifier: Apache-2.0
#include "planner/report/bench_report.h"

#include <fmt/format.h>

#include <string_view>

#include "planner/plan/axes.h"

namespace shardplan {
namespace {

std::uint64_t AddToHash(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string SignatureText(const BenchRow& row) {
  return fmt::format("{:016x}", Signature(row.result.plans));
}

double PerSecond(double count, const BenchRow& row) {
  return row.result.seconds > 0 ? count / row.result.seconds : 0;
}

std::string Rate(double rate) { return FormatScaled(rate) + "/s"; }
}  // namespace

std::uint64_t Signature(const std::vector<Ranked>& plans) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const Ranked& ranked : plans)
    hash = AddToHash(hash, fmt::format("{} {:a}\n", Key(ranked.evaluation.plan),
                                       ranked.evaluation.step.Time().value));
  return hash;
}

std::string BenchReport(const std::vector<BenchRow>& rows, const Look& look) {
  Table table({{"spec", Table::Align::kLeft},
               {"GPUs"},
               {"time"},
               {"covered"},
               {"covered/s"},
               {"evaluated"},
               {"evaluated/s"},
               {"threads"},
               {"best step"},
               {"signature"}});
  for (const BenchRow& row : rows) {
    const SearchResult& result = row.result;
    table.Add({row.spec, FormatCount(row.gpus), FormatSeconds({result.seconds}),
               FormatCount(result.covered), Rate(PerSecond(result.covered, row)),
               FormatCount(result.evaluated), Rate(PerSecond(result.evaluated, row)),
               FormatCount(result.threads),
               result.plans.empty() ? "none fits"
                                    : FormatSeconds(result.plans.front().evaluation.step.Time()),
               SignatureText(row)});
  }
  return table.Print(look);
}

Json BenchJson(const std::vector<BenchRow>& rows) {
  Json json = Json::array();
  for (const BenchRow& row : rows) {
    const SearchResult& result = row.result;
    Json best;
    if (!result.plans.empty()) best = result.plans.front().evaluation.step.Time().value;
    json.push_back({{"spec", row.spec},
                    {"gpus", row.gpus},
                    {"seconds", result.seconds},
                    {"threads", result.threads},
                    {"covered", WholeNumber(result.covered)},
                    {"covered_per_second", PerSecond(result.covered, row)},
                    {"evaluated", WholeNumber(result.evaluated)},
                    {"evaluated_per_second", PerSecond(result.evaluated, row)},
                    {"best_step_seconds", best},
                    {"signature", SignatureText(row)}});
  }
  return {{"schema", kSchema}, {"bench", json}};
}
}  // namespace shardplan
