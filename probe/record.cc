// SPDX-License-Identifier: Apache-2.0
#include "probe/record.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <utility>

namespace shardplan::probe {
namespace {

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}
}  // namespace

Json MachineJson(const DeviceInfo& info) {
  Json machine{{"host", HostName()}, {"device", info.kind}};
  machine[info.kind == "host" ? "cpu" : "gpu"] = info.name;
  for (const auto& [name, version] : {std::pair{"driver", &info.driver},
                                      {"cuda", &info.cuda},
                                      {"nccl", &info.nccl},
                                      {"cublas", &info.cublas},
                                      {"cudnn", &info.cudnn}})
    if (!version->empty()) machine[name] = *version;
  return machine;
}

Json RecordJson(const Record& record, const Json& machine, const std::string& at) {
  Json json{{"schema", kRecordSchema},
            {"probe", record.probe},
            {"params", record.params},
            {"metric", record.metric},
            {"unit", record.unit},
            {"median", record.summary.median},
            {"p10", record.summary.p10},
            {"p90", record.summary.p90},
            {"samples", record.summary.samples},
            {"outliers", record.summary.outliers}};
  if (record.summary.stop != Stop::kGoOn) json["stopped"] = Name(record.summary.stop);
  json["check"] = !record.wrong        ? "none"
                  : *record.wrong == 0 ? "ok"
                                       : fmt::format("{} wrong", *record.wrong);
  for (const auto& [key, value] : record.more.items()) json[key] = value;
  json["machine"] = machine;
  json["plan"] = nullptr;
  json["at"] = at;
  return json;
}

void Records::Add(const Record& record) {
  wrong_ += record.wrong.value_or(0);
  if (prints_) Print(record);
}

void Records::AddOwn(const Record& record) {
  wrong_ += record.wrong.value_or(0);
  Print(record);
}

void Records::Print(const Record& record) {
  const std::string line = RecordJson(record, machine_, Now()).dump() + "\n";
  // At once: what was found out stays, whatever happens next.
  if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size() || std::fflush(stdout) != 0)
    written_ = false;
}
}  // namespace shardplan::probe
