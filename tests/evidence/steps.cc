// SPDX-License-Identifier: Apache-2.0
// steps/GROUP.yaml and the tables beside them.
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "planner/spec/catalogue.h"
#include "planner/spec/free_value.h"
#include "planner/spec/quantity_text.h"
#include "planner/spec/reader.h"
#include "tests/evidence/csv.h"
#include "tests/evidence/evidence.h"
#include "tests/evidence/evidence.pb.h"

namespace shardplan::evidence {
namespace {

using nlohmann::json;

// A file of rows while it is read.
struct StepsFile {
  std::string path;
  file::Steps steps;
  SourceMap map;

  tl::unexpected<Error> Fail(const std::string& key_path, std::string_view what,
                             std::string_view hint) const {
    return InvalidAt(map.ValueOrParent(key_path), key_path, what, hint);
  }
};

Result<MeasuredMemory> MemoryOf(const file::MeasuredMemory& from, const StepsFile& file,
                                const std::string& path) {
  if (!from.has_gib() || !from.has_kind())
    return file.Fail(path, "needs gib and kind", "as in {gib: 60.68, kind: allocated}");
  constexpr MemoryKind kKinds[] = {
      {}, MemoryKind::kAllocated, MemoryKind::kReserved, MemoryKind::kDevice};
  return MeasuredMemory{
      .peak = {from.gib() * 0x1p30}, .kind = kKinds[from.kind()], .last_stage = from.last_stage()};
}

Result<MeasuredTime> TimeOf(const file::MeasuredTime& from, const StepsFile& file,
                            const std::string& path) {
  const std::pair<Rate, double> rates[] = {{Rate::kStepSeconds, from.step_s()},
                                           {Rate::kTokensPerGpu, from.tokens_per_s_per_gpu()},
                                           {Rate::kTeraflopsPerGpu, from.tflops_per_gpu()},
                                           {Rate::kSamples, from.samples_per_s()}};
  MeasuredTime time{.hardware_flops = from.hardware_flops(), .not_counted = from.not_counted()};
  int stated = 0;
  for (const auto& [rate, value] : rates)
    if (value > 0) time.rate = rate, time.value = value, ++stated;
  if (stated != 1)
    return file.Fail(path, fmt::format("states {} rates", stated),
                     "one of step_s, tokens_per_s_per_gpu, samples_per_s, tflops_per_gpu counts; "
                     "the rest goes to `also`");
  if (time.rate != Rate::kTeraflopsPerGpu && (time.hardware_flops || time.not_counted > 0))
    return file.Fail(path, "hardware_flops and not_counted say what tflops_per_gpu counts",
                     "leave them out");
  return time;
}

Result<void> AddMeasured(const file::Measured& from, const StepsFile& file, const std::string& path,
                         Row* row) {
  if (!from.has_outcome())
    return file.Fail(path, "no outcome", "a row says outcome: ran, or outcome: oom");
  row->out_of_memory = from.outcome() == file::OUTCOME_OOM;
  row->parameters = from.parameters();
  if (from.has_memory()) {
    Result<MeasuredMemory> memory = MemoryOf(from.memory(), file, path + ".memory");
    if (!memory) return tl::unexpected(memory.error());
    row->memory = *memory;
  }
  if (from.has_time()) {
    Result<MeasuredTime> time = TimeOf(from.time(), file, path + ".time");
    if (!time) return tl::unexpected(time.error());
    row->time = *time;
  }
  return {};
}

Result<Row> RowOf(const file::Row& from, const StepsFile& file, const std::string& path) {
  const auto fail = [&](std::string_view what, std::string_view hint) {
    return file.Fail(path, what, hint);
  };
  if (!from.has_id()) return fail("no id", "ids begin with the group's name and a dash");
  if (!from.id().starts_with(file.steps.group() + "-"))
    return file.Fail(path + ".id", fmt::format("{} is no id of this group", from.id()),
                     fmt::format("expected {}-...", file.steps.group()));
  Row row{.id = from.id(),
          .group = file.steps.group(),
          .source = from.has_source() ? from.source() : file.steps.source(),
          .url = from.has_url() ? from.url() : file.steps.url(),
          .notes = from.notes(),
          .assumed = from.assumed() || from.confidence() != file::CONFIDENCE_HIGH,
          .too_little = from.too_little()};
  if (row.source.empty())
    return fail("no source", "say who published it and where, here or once for the file");
  if (!from.has_confidence())
    return fail("no confidence", "high: the source states all that a planner needs; medium; low");
  if (from.has_spec() == from.has_too_little())
    return fail(from.has_spec() ? "both spec and too_little" : "neither spec nor too_little",
                "a row has a spec, or says in too_little what is missing for one");
  if (from.has_spec()) row.spec = JsonOf(from.spec().keys());
  if (!from.has_measured()) return fail("no measured", "as in measured: {outcome: ran}");
  if (Result<void> done = AddMeasured(from.measured(), file, path + ".measured", &row); !done)
    return tl::unexpected(done.error());
  return row;
}

// A cell as the YAML reader would take it.
json ValueOf(const std::string& cell) {
  if (const std::optional<std::int64_t> whole = ParseWhole(cell)) return *whole;
  const ParsedNumber number = ParseNumber(cell, Dimension::kNone);
  return number.fault == NumberFault::kNone ? json(number.value) : json(cell);
}

// Replaces each text `$COLUMN` in `value` by the line's cell.
Result<void> FillIn(const Csv& csv, std::size_t line, json* value, std::set<std::size_t>* used) {
  if (value->is_structured()) {
    for (json& part : *value)
      if (Result<void> done = FillIn(csv, line, &part, used); !done) return done;
    return {};
  }
  if (!value->is_string() || !value->get_ref<const std::string&>().starts_with('$')) return {};
  const Result<std::size_t> column = csv.Column(value->get_ref<const std::string&>().substr(1));
  if (!column) return tl::unexpected(column.error());
  used->insert(*column);
  *value = ValueOf(csv.Text(line, *column));
  return {};
}

Result<Row> RowOfLine(const Csv& csv, std::size_t line, const StepsFile& file) {
  const Result<std::size_t> id = csv.Column("id"), step = csv.Column("step_s");
  if (!id) return tl::unexpected(id.error());
  if (!step) return tl::unexpected(step.error());
  Row row{.id = csv.Text(line, *id),
          .group = file.steps.group(),
          .source = file.steps.source(),
          .url = file.steps.url(),
          .spec = JsonOf(file.steps.spec().keys())};
  if (!row.id.starts_with(row.group + "-"))
    return csv.Fail(line, *id, fmt::format("{} is no id of this group", Shown(row.id)),
                    fmt::format("expected {}-...", row.group));
  const Result<std::optional<double>> seconds = csv.Positive(line, *step);
  if (!seconds) return tl::unexpected(seconds.error());
  if (!*seconds) return csv.Fail(line, *step, "empty", "expected the seconds of a step");
  row.time = MeasuredTime{.rate = Rate::kStepSeconds, .value = **seconds};
  std::set<std::size_t> used{*id, *step};
  if (Result<void> done = FillIn(csv, line, &row.spec, &used); !done)
    return tl::unexpected(done.error());
  for (std::size_t column = 0; column < csv.Columns().size(); ++column)
    if (!used.contains(column))
      return csv.Fail(line, column, "a column that the spec of the table does not use",
                      fmt::format("write ${} where its value belongs", csv.Columns()[column]));
  return row;
}

Result<void> AddTable(const StepsFile& file, std::vector<Row>* rows) {
  if (!file.steps.has_spec() || !file.steps.has_source())
    return file.Fail("table", "a table needs a spec and a source",
                     "beside it, with $COLUMN where a cell belongs");
  const auto path = std::filesystem::path(file.path).parent_path() / file.steps.table();
  const Result<Csv> csv = Csv::Read(path.string());
  if (!csv) return tl::unexpected(csv.error());
  for (std::size_t line = 0; line < csv->Lines(); ++line) {
    Result<Row> row = RowOfLine(*csv, line, file);
    if (!row) return tl::unexpected(row.error());
    rows->push_back(std::move(*row));
  }
  return {};
}
}  // namespace

Result<void> ReadSteps(const std::string& path, Evidence* evidence) {
  StepsFile file{.path = path};
  const Result<SourcePtr> source = ReadSource(path, {});
  if (!source) return tl::unexpected(source.error());
  if (Result<void> done = ReadMessage(*source, &file.steps, &file.map); !done) return done;
  const std::string name = std::filesystem::path(path).stem().string();
  if (file.steps.group() != name)
    return file.Fail("group", fmt::format("found {}", Shown(file.steps.group())),
                     fmt::format("expected the file's name, {}", name));
  if (!file.steps.has_about())
    return file.Fail("", "no about", "say in one sentence who measured what on what");
  evidence->groups.push_back(
      {.name = name, .about = file.steps.about(), .jobs = file.steps.jobs()});
  for (int i = 0; i < file.steps.rows_size(); ++i) {
    Result<Row> row = RowOf(file.steps.rows(i), file, fmt::format("rows[{}]", i));
    if (!row) return tl::unexpected(row.error());
    evidence->rows.push_back(std::move(*row));
  }
  return file.steps.has_table() ? AddTable(file, &evidence->rows) : Result<void>{};
}
}  // namespace shardplan::evidence
