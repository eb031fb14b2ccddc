// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/profile_reader.h"

#include <fmt/format.h>

#include <optional>
#include <sstream>
#include <utility>

#include "planner/spec/yaml_json.h"

namespace shardplan {
namespace {

constexpr std::string_view kSchema = "shardplan.record/v1";

bool IsRecord(const Json& json) {
  const auto has = [&json](const char* key, auto test) {
    const auto found = json.find(key);
    return found != json.end() && test(*found);
  };
  return json.is_object() && has("schema", [](const Json& s) { return s == kSchema; }) &&
         has("probe", [](const Json& p) { return p.is_string(); }) &&
         has("params", [](const Json& p) { return p.is_object(); }) &&
         has("median", [](const Json& m) { return m.is_number(); });
}

tl::unexpected<Error> NoRecord(const Place& place) {
  return InvalidAt(place, "", "not a record",
                   fmt::format("expected schema: {}, probe, params and median, as shardplan probe "
                               "-o json prints them",
                               kSchema));
}

Result<std::vector<Json>> ReadLines(const SourcePtr& source) {
  std::vector<Json> records;
  std::size_t begin = 0;
  for (std::size_t end; begin < source->text.size(); begin = end + 1) {
    end = std::min(source->text.find('\n', begin), source->text.size());
    const std::string_view line = std::string_view(source->text).substr(begin, end - begin);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    Json record = Json::parse(line, nullptr, false);
    if (!IsRecord(record)) return NoRecord({source, begin, line.size()});
    records.push_back(std::move(record));
  }
  return records;
}

// Parameters of a record by type; unset where they are not there.
class Params {
 public:
  explicit Params(const Json& record) : params_(record["params"]) {}
  std::optional<double> Positive(const char* key) const {
    const auto found = params_.find(key);
    if (found == params_.end() || !found->is_number() || found->get<double>() <= 0)
      return std::nullopt;
    return found->get<double>();
  }
  std::string Word(const char* key) const {
    const auto found = params_.find(key);
    return found != params_.end() && found->is_string() ? found->get<std::string>() : "";
  }
  bool Flag(const char* key) const {
    const auto found = params_.find(key);
    return found != params_.end() && found->is_boolean() && found->get<bool>();
  }

 private:
  const Json& params_;
};

std::optional<Number> NumberOf(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, Number>, 6> kNumbers{{{"fp32", Number::kFp32},
                                                                         {"tf32", Number::kTf32},
                                                                         {"fp16", Number::kFp16},
                                                                         {"bf16", Number::kBf16},
                                                                         {"fp8", Number::kFp8},
                                                                         {"fp4", Number::kFp4}}};
  for (const auto& [word, number] : kNumbers)
    if (word == name) return number;
  return std::nullopt;
}

void AddCollective(const Params& params, Seconds time, CollectiveProfile& profile) {
  const auto op = CollectiveOf(params.Word("op"));
  const auto ranks = params.Positive("ranks"), bytes = params.Positive("bytes");
  if (!op || !ranks || !bytes) return;
  const int stride = static_cast<int>(params.Positive("stride").value_or(1));
  profile.curves[{*op, static_cast<int>(*ranks), stride}].Add({*bytes}, time);
}

void AddGemm(const Params& params, Seconds time, KernelMeasurements& kernels) {
  const auto number = NumberOf(params.Word("dtype"));
  const auto m = params.Positive("m"), n = params.Positive("n"), k = params.Positive("k");
  // A step takes the library's first proposal.
  if (!number || !m || !n || !k || params.Positive("candidates")) return;
  kernels.gemms.push_back({*number, *m, *n, *k, params.Positive("batch").value_or(1), time});
}

void AddAttention(const Params& params, Seconds time, KernelMeasurements& kernels) {
  const auto number = NumberOf(params.Word("dtype"));
  const auto heads = params.Positive("heads"), seq = params.Positive("seq"),
             head_dim = params.Positive("head_dim");
  if (!heads || !seq || !head_dim) return;
  kernels.attentions.push_back({number.value_or(Number::kBf16), params.Word("pass") == "backward",
                                params.Positive("batch").value_or(1), *heads, *seq, *head_dim,
                                params.Flag("causal"), time});
}

void AddKernel(const Json& record, const Params& params, Seconds time,
               KernelMeasurements& kernels) {
  if (params.Flag("cold")) return;  // operands come from the kernel before
  const std::string probe = record["probe"];
  if (probe == "gemm") AddGemm(params, time, kernels);
  if (probe == "attention") AddAttention(params, time, kernels);
  if (probe == "copy" && params.Word("kind") == "device")
    // A copy reads and writes what it moves.
    if (const auto bytes = params.Positive("bytes"))
      kernels.streams.push_back({{2 * *bytes}, time});
  const double rate = record.value("bytes_per_second", 0.0);
  const auto width = params.Positive("width");
  if (probe == "elementwise" && rate > 0 && width)
    kernels.passes.push_back({params.Word("name"), Bytes{rate * time.value}, *width, time});
}
}  // namespace

Result<std::vector<Json>> ReadRecords(const SourcePtr& source) {
  const std::size_t first = source->text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && source->text[first] == '{') return ReadLines(source);
  const Result<YamlNode> root = ParseYaml(source);
  if (!root) return tl::unexpected(root.error());
  std::vector<Json> records;
  if (root->kind == YamlNode::Kind::kNull) return records;
  if (root->kind != YamlNode::Kind::kList) return NoRecord(root->place);
  for (const YamlNode& item : root->items) {
    Json record = JsonOf(item);
    if (!IsRecord(record)) return NoRecord(item.place);
    records.push_back(std::move(record));
  }
  return records;
}

Measurements MeasurementsOf(const std::vector<Json>& records) {
  Measurements measurements;
  // Out of place first: it is what counts where a size was measured both ways.
  for (const bool in_place : {false, true})
    for (const Json& record : records) {
      const Params params(record);
      const std::string check = record.value("check", "none");
      const double median = record["median"];
      if (record.value("metric", "") != "seconds" || median <= 0 ||
          params.Flag("in_place") != in_place || (check != "ok" && check != "none"))
        continue;
      if (record["probe"] == "collectives")
        AddCollective(params, {median}, measurements.collectives);
      else
        AddKernel(record, params, {median}, measurements.kernels);
    }
  return measurements;
}

void Apply(const Measurements& measurements, Machine& machine) {
  if (!measurements.collectives.curves.empty())
    machine.profile = std::make_shared<CollectiveProfile>(measurements.collectives);
  machine.gpu.profile = CorrectionsOf(machine.gpu, measurements.kernels);
}
}  // namespace shardplan
