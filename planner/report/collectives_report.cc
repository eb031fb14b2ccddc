// SPDX-License-Identifier: Apache-2.0
#include "planner/report/collectives_report.h"

#include <fmt/format.h>

namespace shardplan {
namespace {

// What crosses the wires over what nccl-tests calls the size (its PERFORMANCE.md).
double BusFactor(Collective op, double ranks) {
  switch (op) {
    case Collective::kAllReduce:
      return 2 * (ranks - 1) / ranks;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return (ranks - 1) / ranks;
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kSendRecv:
      return 1;
  }
  return 1;
}

std::string LayoutOf(const Machine& machine, const Group& group) {
  if (group.stride != 1) return fmt::format(", {} ranks apart", group.stride);
  const int nodes = (group.ranks + machine.gpus_per_node - 1) / machine.gpus_per_node;
  return nodes == 1 ? " of one node" : fmt::format(" on {} nodes", nodes);
}
}  // namespace

BytesPerSecond AlgorithmBandwidth(const CollectiveAnswer& answer) {
  return answer.predicted.time.value > 0 ? answer.bytes / answer.predicted.time : BytesPerSecond{};
}

BytesPerSecond BusBandwidth(const CollectiveAnswer& answer) {
  return AlgorithmBandwidth(answer) * BusFactor(answer.op, answer.group.ranks);
}

std::string CollectivesReport(const Machine& machine, const std::vector<CollectiveAnswer>& answers,
                              const Look& look) {
  Table table({{"size"},
               {"time"},
               {"algbw"},
               {"busbw"},
               {"algorithm", Table::Align::kLeft},
               {"protocol", Table::Align::kLeft},
               {"channels"}});
  for (const CollectiveAnswer& answer : answers)
    table.Add({FormatMessageSize(answer.bytes), FormatSeconds(answer.predicted.time),
               FormatBandwidth(AlgorithmBandwidth(answer)), FormatBandwidth(BusBandwidth(answer)),
               answer.predicted.algorithm, answer.predicted.protocol,
               answer.predicted.channels > 0 ? FormatCount(answer.predicted.channels) : ""});
  std::string text;
  if (!answers.empty())
    text = fmt::format("{}, {} ranks{}, {}, NCCL {}\n", Name(answers.front().op),
                       answers.front().group.ranks, LayoutOf(machine, answers.front().group),
                       machine.gpu.name, machine.nccl.version);
  return text + table.Print(look) + BasisLine(machine);
}

Json CollectivesJson(const Machine& machine, const std::vector<CollectiveAnswer>& answers) {
  Json rows = Json::array();
  for (const CollectiveAnswer& answer : answers)
    rows.push_back({{"op", Name(answer.op)},
                    {"ranks", answer.group.ranks},
                    {"stride", answer.group.stride},
                    {"bytes", WholeNumber(answer.bytes.value)},
                    {"seconds", answer.predicted.time.value},
                    {"algbw", AlgorithmBandwidth(answer).value},
                    {"busbw", BusBandwidth(answer).value},
                    {"algorithm", answer.predicted.algorithm},
                    {"protocol", answer.predicted.protocol},
                    {"channels", answer.predicted.channels}});
  return {{"schema", kSchema}, {"collectives", rows}, {"basis", Basis(machine)}};
}
}  // namespace shardplan
