// SPDX-License-Identifier: Apache-2.0
// Records: what a probe found out, one JSON object a line on standard output.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "probe/device.h"
#include "probe/stopping.h"

namespace shardplan::probe {

using Json = nlohmann::ordered_json;

inline constexpr char kRecordSchema[] = "shardplan.record/v1";

struct Record {
  std::string probe;
  Json params = Json::object();
  std::string metric = "seconds", unit = "s";
  Summary summary;
  std::optional<long> wrong;   // elements that were checked and wrong; unset: nothing to check
  Json more = Json::object();  // further keys beside those that every record has
};
// `machine` as MachineJson says it, `at` in UTC as "2026-11-30T19:00:00Z".
Json RecordJson(const Record& record, const Json& machine, const std::string& at);
Json MachineJson(const DeviceInfo& info);

// Where a rank's records go. Only one rank of a world prints those that all share.
class Records {
 public:
  Records(const DeviceInfo& info, bool prints) : machine_(MachineJson(info)), prints_(prints) {}
  // Counts what was wrong, and prints.
  void Add(const Record& record);
  // Printed by whichever rank it happened on.
  void AddOwn(const Record& record);
  // Wrong elements seen so far.
  long wrong() const { return wrong_; }
  // False once standard output could not be written.
  bool written() const { return written_; }

 private:
  void Print(const Record& record);
  Json machine_;
  bool prints_;
  long wrong_ = 0;
  bool written_ = true;
};
}  // namespace shardplan::probe
