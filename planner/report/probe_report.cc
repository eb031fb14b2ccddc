// SPDX-License-Identifier: Apache-2.0
#include "planner/report/probe_report.h"

#include <fmt/format.h>

#include <map>

namespace shardplan {
namespace {

std::string WordOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

double NumberOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

// "0", or how many elements were wrong; "N/A" where nothing was checked.
std::string WrongOf(const Json& record) {
  const std::string check = WordOf(record, "check");
  if (check == "ok") return "0";
  return check == "none" ? "N/A" : check.substr(0, check.find(' '));
}

// One size: out of place and in place.
struct Pair {
  const Json* places[2] = {nullptr, nullptr};
};

void AddPlace(std::vector<std::string>& cells, const Json* record) {
  if (record == nullptr) {
    cells.insert(cells.end(), 4, "N/A");
    return;
  }
  cells.push_back(fmt::format("{:.2f}", NumberOf(*record, "median") * 1e6));
  cells.push_back(fmt::format("{:.2f}", NumberOf(*record, "algbw") / 1e9));
  cells.push_back(fmt::format("{:.2f}", NumberOf(*record, "busbw") / 1e9));
  cells.push_back(WrongOf(*record));
}

// nccl-tests' columns: what makes a line, then both places.
std::string Collectives(const std::vector<const Json*>& records, const Look& look) {
  Table table({{"op", Table::Align::kLeft},
               {"ranks"},
               {"stride"},
               {"size(B)"},
               {"count"},
               {"type", Table::Align::kLeft},
               {"redop", Table::Align::kLeft},
               {"root"},
               {"time(us)"},
               {"algbw(GB/s)"},
               {"busbw(GB/s)"},
               {"#wrong"},
               {"in place: time(us)"},
               {"algbw(GB/s)"},
               {"busbw(GB/s)"},
               {"#wrong"},
               {"NCCL predicts(us)"}});
  std::vector<std::string> order;
  std::map<std::string, Pair> lines;
  double bandwidth = 0, wrong = 0;
  for (const Json* record : records) {
    Json params = (*record)["params"];
    const bool in_place = params.value("in_place", false);
    params.erase("in_place");
    const std::string key = params.dump();
    if (lines.count(key) == 0) order.push_back(key);
    lines[key].places[in_place ? 1 : 0] = record;
    bandwidth += NumberOf(*record, "busbw") / 1e9 / static_cast<double>(records.size());
    const std::string count = WrongOf(*record);
    if (count != "N/A") wrong += std::stod(count);
  }
  for (const std::string& key : order) {
    const Pair& pair = lines[key];
    const Json& one = pair.places[0] != nullptr ? *pair.places[0] : *pair.places[1];
    const Json& params = one["params"];
    const std::string op = WordOf(params, "op");
    const bool sums = op == "all_reduce" || op == "reduce_scatter" || op == "reduce";
    const bool rooted = op == "broadcast" || op == "reduce";
    std::vector<std::string> cells{op,
                                   WordOf(params, "ranks"),
                                   WordOf(params, "stride"),
                                   WordOf(params, "bytes"),
                                   WordOf(one, "count"),
                                   WordOf(params, "dtype"),
                                   sums ? "sum" : "none",
                                   rooted ? fmt::format("{:.0f}", NumberOf(params, "root")) : "-1"};
    AddPlace(cells, pair.places[0]);
    AddPlace(cells, pair.places[1]);
    const double predicted = NumberOf(one, "nccl_predicted");
    cells.push_back(predicted > 0 ? fmt::format("{:.2f}", predicted * 1e6) : "");
    table.Add(std::move(cells),
              WrongOf(one) == "0" || WrongOf(one) == "N/A" ? Tone::kPlain : Tone::kBad);
  }
  return table.Print(look) +
         fmt::format("# Out of bounds values : {:.0f} {}\n# Avg bus bandwidth    : {:.6g}\n", wrong,
                     wrong == 0 ? "OK" : "FAILED", bandwidth);
}

std::string Quantity(double value, const std::string& unit) {
  if (unit == "s") return FormatSeconds({value});
  if (unit == "B") return FormatBytes({value});
  if (unit == "B/s") return FormatBandwidth({value});
  return FormatFigure(value) + (unit.empty() ? "" : " " + unit);
}

// Any other probe: a row a record.
std::string Others(const std::vector<const Json*>& records, const Look& look) {
  Table table({{"probe", Table::Align::kLeft},
               {"parameters", Table::Align::kLeft},
               {"metric", Table::Align::kLeft},
               {"median"},
               {"p10"},
               {"p90"},
               {"samples"},
               {"outliers"},
               {"check", Table::Align::kLeft},
               {"note", Table::Align::kLeft}});
  for (const Json* record : records) {
    std::string params;
    for (const auto& [key, value] : (*record)["params"].items())
      params += fmt::format("{}{} {}", params.empty() ? "" : ", ", key,
                            value.is_string() ? value.get<std::string>() : value.dump());
    const std::string unit = WordOf(*record, "unit");
    const auto quantity = [&](const char* key) { return Quantity(NumberOf(*record, key), unit); };
    const double flops = NumberOf(*record, "flops_per_second");
    const double bytes = NumberOf(*record, "bytes_per_second");
    const std::string note = record->contains("error") ? WordOf(*record, "error")
                             : flops > 0               ? FormatFigure(flops / 1e9) + " GFLOP/s"
                             : bytes > 0               ? FormatBandwidth({bytes})
                                                       : "";
    const bool failed = WordOf(*record, "metric") == "failed_allocation";
    table.Add({WordOf(*record, "probe"), params, WordOf(*record, "metric"), quantity("median"),
               quantity("p10"), quantity("p90"), WordOf(*record, "samples"),
               WordOf(*record, "outliers"), WordOf(*record, "check"), note},
              failed ? Tone::kBad : Tone::kPlain);
  }
  return table.Print(look);
}
}  // namespace

std::string ProbeReport(const std::vector<Json>& records, const Look& look) {
  if (records.empty()) return "";
  std::vector<const Json*> collectives, others;
  for (const Json& record : records)
    (WordOf(record, "probe") == "collectives" && record.contains("busbw") ? collectives : others)
        .push_back(&record);
  const Json& machine = records.front()["machine"];
  std::string text = fmt::format("measured on {}, {}", WordOf(machine, "host"),
                                 WordOf(machine, machine.contains("gpu") ? "gpu" : "cpu"));
  for (const char* key : {"driver", "nccl"})
    if (machine.contains(key)) text += fmt::format(", {} {}", key, WordOf(machine, key));
  text += "\n";
  if (!collectives.empty()) text += Collectives(collectives, look);
  if (!others.empty()) text += Others(others, look);
  return text;
}
}  // namespace shardplan
