// SPDX-License-Identifier: Apache-2.0
// The probes of the program, one file and one row of a table each.
//
// A probe measures points. A point is the `params` of the record that it becomes (contract.md
// section 5); points come from a probe's options or from a file (`shardplan-probe points FILE`).
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>
#include <vector>

#include "probe/measure.h"
#include "probe/record.h"
#include "probe/watch.h"

namespace shardplan::probe {

// What all points of one run share.
struct Session {
  Device& device;
  Watch& watch;
  Records& records;
  Stream& stream;
  MeasureOptions measure;
};

struct Probe {
  std::string_view name, summary;
  // Declares the probe's options on `app`; what is returned gives the points once `app` parsed.
  std::function<std::vector<Json>()> (*declare)(CLI::App& app);
  // Measures one point and adds its records. An unknown or missing key of the point is an Error.
  Result<void> (*measure)(Session& session, const Json& point);
};
const std::vector<Probe>& Probes();
const Probe* FindProbe(std::string_view name);

std::function<std::vector<Json>()> DeclareGemm(CLI::App& app);
Result<void> MeasureGemm(Session& session, const Json& point);
}  // namespace shardplan::probe
