// SPDX-License-Identifier: Apache-2.0
// What was measured: training steps and collectives, each with its source, as the files of
// tests/evidence state them (README.md there says how to read and how to add a row).
//
// Data only. judge.h asks the planner about it; figures.h says how far the two are apart.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "planner/base/quantity.h"
#include "planner/base/result.h"
#include "planner/machine/collective.h"

namespace shardplan::evidence {

enum class MemoryKind { kAllocated, kReserved, kDevice };
struct MeasuredMemory {
  Bytes peak;
  MemoryKind kind = MemoryKind::kAllocated;
  bool last_stage = false;  // of a rank of the last stage, else of the fullest rank
};

enum class Rate { kStepSeconds, kTokensPerGpu, kTeraflopsPerGpu, kSamples };
struct MeasuredTime {
  Rate rate = Rate::kStepSeconds;
  double value = 0;             // seconds, or per second
  bool hardware_flops = false;  // what ran, recomputation too
  double not_counted = 0;  // FLOPs per token that our count of the model has and the source's not
};

// One training run. Its id begins with its group's name.
struct Row {
  std::string id, group, source, url, notes;
  bool assumed = false;    // the spec assumes something that the source does not state
  std::string too_little;  // what is missing for a spec; empty: there is one
  nlohmann::json spec;     // contract section 1
  std::optional<MeasuredMemory> memory;
  std::optional<MeasuredTime> time;
  double parameters = 0;  // of the model; 0: not stated
  bool out_of_memory = false;
};

// One source of rows.
struct Group {
  std::string name, about;
  bool jobs = false;  // rows of the same model, GPUs, batch and sequence are rival plans of one job
};

// Where collectives were measured; all its GPUs take part in each.
struct Testbed {
  std::string name, what, source, url;
  nlohmann::json cluster;   // contract section 1
  std::string not_covered;  // why there is no cluster
};

// One collective: its time, or only the bus bandwidth that was published of it. Neither: the
// source rounds both to zero.
struct Point {
  std::string id;  // testbed/op/bytes
  std::size_t testbed = 0;
  Collective op = Collective::kAllReduce;
  Bytes bytes;  // as nccl-tests counts them
  std::optional<Seconds> time;
  std::optional<BytesPerSecond> bus_bandwidth;
};

struct Evidence {
  std::vector<Group> groups;  // by name
  std::vector<Row> rows;      // in the groups' order; ids are unique
  std::vector<Testbed> testbeds;
  std::vector<Point> points;
};

// Everything under `directory`; the first mistake in a file is the error, with its line.
Result<Evidence> ReadEvidence(const std::string& directory);

// One file each. Rows and points are appended.
Result<void> ReadSteps(const std::string& path, Evidence* evidence);
Result<void> ReadTestbeds(const std::string& path, Evidence* evidence);
Result<void> ReadPoints(const std::string& path, Evidence* evidence);
}  // namespace shardplan::evidence
