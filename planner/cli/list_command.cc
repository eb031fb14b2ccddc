// SPDX-License-Identifier: Apache-2.0
// list KIND: what the catalogue in configs/ holds, each entry read as a spec would read it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "planner/cli/command.h"
#include "planner/cli/options.h"
#include "planner/framework/framework.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;

// The names of the entries of configs/KIND, sorted. A missing directory has none.
std::vector<std::string> EntriesOf(const std::string& kind) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(ConfigDirectory()) / kind, error))
    if (const std::string extension = entry.path().extension();
        extension == ".yaml" || extension == ".json")
      names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

std::string Tflops(FlopsPerSecond rate) {
  return rate.value > 0 ? fmt::format("{:.0f}", rate.value / 1e12) : "";
}

// A column and what it shows of an entry's spec.
struct Column {
  Table::Column header;
  std::string json_key;  // empty: text only
  std::function<std::string(const Problem&)> text;
  std::function<Json(const Problem&)> json;
};

struct Kind {
  std::string name;
  std::string spec;  // of one entry, "{}" stands for its name; empty: the entry is a spec itself
  Needs needs;
  std::vector<Column> columns;
};

template <class T>
using Getter = std::function<T(const Problem&)>;

Column Size(std::string header, std::string key, const Getter<Bytes>& of) {
  return {{std::move(header)},
          std::move(key),
          [of](const Problem& p) { return FormatBytes(of(p)); },
          [of](const Problem& p) { return WholeNumber(of(p).value); }};
}
Column Rate(std::string header, std::string key, const Getter<BytesPerSecond>& of) {
  return {{std::move(header)},
          std::move(key),
          [of](const Problem& p) { return FormatBandwidth(of(p)); },
          [of](const Problem& p) { return Json(of(p).value); }};
}
Column Peak(std::string header, std::string key, FlopsPerSecond Gpu::*peak) {
  return {{std::move(header)},
          std::move(key),
          [peak](const Problem& p) { return Tflops(p.machine.gpu.*peak); },
          [peak](const Problem& p) { return Json((p.machine.gpu.*peak).value); }};
}
Column Count(std::string header, std::string key, const Getter<double>& of) {
  return {{std::move(header)},
          std::move(key),
          [of](const Problem& p) { return FormatCount(of(p)); },
          [of](const Problem& p) { return WholeNumber(of(p)); }};
}
Column Parameters(std::string header, std::string key, const Getter<double>& of) {
  Column column = Count(std::move(header), std::move(key), of);
  column.text = [of](const Problem& p) { return FormatScaled(of(p)); };
  return column;
}
Column Word(std::string key, const Getter<std::string>& of) {
  return {{key, Table::Align::kLeft}, key, of, [of](const Problem& p) { return Json(of(p)); }};
}

const std::vector<Kind>& Kinds() {
  const auto gpus = [](const Problem& p) { return double(p.machine.Gpus()); };
  static const std::vector<Kind> kinds{
      {"gpus",
       "cluster: {{gpu: {}}}",
       Needs::kCluster,
       {Size("memory", "memory", [](const Problem& p) { return p.machine.gpu.memory; }),
        Rate("bandwidth", "memory_bandwidth",
             [](const Problem& p) { return p.machine.gpu.memory_bandwidth; }),
        Peak("bf16 TFLOP/s", "bf16", &Gpu::bf16), Peak("fp8", "fp8", &Gpu::fp8),
        Peak("fp4", "fp4", &Gpu::fp4),
        Word("scale_up", [](const Problem& p) { return p.machine.scale_up.kind; })}},
      {"links",
       "cluster: {{gpu: h100-sxm-80gb, scale_up: {}}}",
       Needs::kCluster,
       {Rate("bandwidth", "bandwidth",
             [](const Problem& p) { return p.machine.scale_up.bandwidth; })}},
      {"clusters",
       "cluster: {{preset: {}}}",
       Needs::kCluster,
       {Count("GPUs", "gpus", gpus),
        Word("gpu", [](const Problem& p) { return p.machine.gpu.name; }),
        Word("scale_up", [](const Problem& p) { return p.machine.scale_up.kind; }),
        Word("scale_out", [](const Problem& p) { return p.machine.scale_out.kind; }),
        Rate("per node", "scale_out_bandwidth_per_node",
             [](const Problem& p) { return p.machine.scale_out.PerNode(); })}},
      {"models",
       "model: {{preset: {}}}",
       Needs::kModel,
       {Parameters("parameters", "parameters",
                   [](const Problem& p) { return CountParameters(p.model).total; }),
        Parameters("active", "active_parameters",
                   [](const Problem& p) { return CountParameters(p.model).active; }),
        Count("layers", "layers", [](const Problem& p) { return double(p.model.facts.layers); }),
        Word("family", [](const Problem& p) { return p.model.family; })}},
      {"specs",
       "",
       Needs::kAll,
       {Word("model", [](const Problem& p) { return p.title; }), Count("GPUs", "gpus", gpus),
        Word("gpu", [](const Problem& p) { return p.machine.gpu.name; }),
        Word(
            "framework",
            [](const Problem& p) { return std::string(FrameworkOf(p.training.framework).name); })}},
  };
  return kinds;
}

std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (const Kind& kind : Kinds()) names.push_back(kind.name);
  names.emplace_back("frameworks");
  return names;
}

int ListEntries(const Kind& kind, Format format) {
  std::vector<Table::Column> headers{{"name", Table::Align::kLeft}};
  for (const Column& column : kind.columns) headers.push_back(column.header);
  Table table(std::move(headers));
  Json rows = Json::array();
  int code = kDone;
  for (const std::string& name : EntriesOf(kind.name)) {
    const Result<Problem> problem =
        kind.spec.empty()
            ? ReadProblem(fs::path(ConfigDirectory()) / kind.name / (name + ".yaml"), {},
                          kind.needs)
            : ParseProblem(fmt::format(fmt::runtime(kind.spec), name), name, {}, kind.needs);
    if (!problem) {  // one broken entry must not hide the others
      Complain(problem.error());
      code = kFailed;
      continue;
    }
    std::vector<std::string> cells{name};
    Json row{{"name", name}};
    for (const Column& column : kind.columns) {
      cells.push_back(column.text(*problem));
      row[column.json_key] = column.json(*problem);
    }
    table.Add(std::move(cells));
    rows.push_back(std::move(row));
  }
  if (format == Format::kText) return Answer(table.Print(LookOfOutput()), code);
  return Answer({{"schema", kSchema}, {kind.name, rows}}, format, code);
}

int ListFrameworks(Format format) {
  Table table({{"name", Table::Align::kLeft},
               {"version"},
               {"zero stages", Table::Align::kLeft},
               {"axes", Table::Align::kLeft}});
  Json rows = Json::array();
  for (const Framework& framework : Frameworks()) {
    const std::pair<const char*, bool> axes[] = {{"tp", framework.tensor},
                                                 {"pp", framework.pipeline},
                                                 {"vpp", framework.interleaved},
                                                 {"cp", framework.context},
                                                 {"ep", framework.expert}};
    std::vector<std::string> has;
    for (const auto& [axis, there] : axes)
      if (there) has.emplace_back(axis);
    table.Add({std::string(framework.name), std::string(framework.newest_version),
               fmt::format("{}", fmt::join(framework.zero_stages, " ")),
               fmt::format("{}", fmt::join(has, " "))});
    rows.push_back({{"name", framework.name},
                    {"version", framework.newest_version},
                    {"zero_stages", framework.zero_stages},
                    {"axes", has}});
  }
  if (format == Format::kText) return Answer(table.Print(LookOfOutput()));
  return Answer({{"schema", kSchema}, {"frameworks", rows}}, format);
}
}  // namespace

std::function<int()> DeclareList(CLI::App& app) {
  struct Options {
    std::string kind;
    Format format = Format::kText;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("KIND", options->kind, fmt::format("{}", fmt::join(KindNames(), ", ")))
      ->type_name("")
      ->required()
      ->check(OneOf("list", KindNames()));
  AddFormat(app, options->format);
  return [options] {
    for (const Kind& kind : Kinds())
      if (kind.name == options->kind) return ListEntries(kind, options->format);
    return ListFrameworks(options->format);
  };
}
}  // namespace shardplan
