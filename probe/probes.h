// SPDX-License-Identifier: Apache-2.0
// The probes of the program, one file and one row of a table each.
//
// A probe measures points. A point is the `params` of the record that it becomes (contract.md
// section 5); points come from a probe's options or from a file (`shardplan-probe points FILE`).
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "probe/communicator.h"
#include "probe/measure.h"
#include "probe/record.h"
#include "probe/watch.h"

namespace shardplan::probe {

// A communicator with what was already run on it. Null on ranks that take no part.
struct Group {
  std::unique_ptr<Communicator> communicator;
  std::set<Collective> used;
};

// What all points of one run share.
struct Session {
  Device& device;
  World& world;
  Watch& watch;
  Records& records;
  Stream& stream;
  MeasureOptions measure;
  std::uint64_t seed = 0;
  // By the shape they were made for; later points use them again. All ranks hold the same keys.
  std::map<std::string, Group> groups;
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

std::function<std::vector<Json>()> DeclareAttention(CLI::App& app);
Result<void> MeasureAttention(Session& session, const Json& point);
std::function<std::vector<Json>()> DeclareCopy(CLI::App& app);
Result<void> MeasureCopy(Session& session, const Json& point);
std::function<std::vector<Json>()> DeclareElementwise(CLI::App& app);
Result<void> MeasureElementwise(Session& session, const Json& point);
std::function<std::vector<Json>()> DeclareGemm(CLI::App& app);
Result<void> MeasureGemm(Session& session, const Json& point);
std::function<std::vector<Json>()> DeclareDisk(CLI::App& app);
Result<void> MeasureDisk(Session& session, const Json& point);
std::function<std::vector<Json>()> DeclareCollectives(CLI::App& app);
Result<void> MeasureCollectives(Session& session, const Json& point);
std::function<std::vector<Json>()> DeclareLaunch(CLI::App& app);
Result<void> MeasureLaunch(Session& session, const Json& point);
std::function<std::vector<Json>()> DeclareMemory(CLI::App& app);
Result<void> MeasureMemory(Session& session, const Json& point);
std::function<std::vector<Json>()> DeclareOccupancy(CLI::App& app);
Result<void> MeasureOccupancy(Session& session, const Json& point);
std::function<std::vector<Json>()> DeclareOverlap(CLI::App& app);
Result<void> MeasureOverlap(Session& session, const Json& point);
}  // namespace shardplan::probe
