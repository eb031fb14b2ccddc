// SPDX-License-Identifier: Apache-2.0
#include "tests/evidence/host_collectives.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "planner/spec/catalogue.h"
#include "planner/spec/problem.h"
#include "planner/spec/profile_reader.h"

namespace shardplan::evidence {

Result<std::vector<PredictedCollective>> PredictFromProfile(const std::string& profile,
                                                            const std::string& truth) {
  // What the data sheets of these nodes say matters only beyond the measured sizes.
  const nlohmann::json spec{{"cluster",
                             {{"gpu", "rtx-4090"},
                              {"nodes", 4},
                              {"gpus_per_node", 1},
                              {"scale_out", "1x1Gb/s ethernet"},
                              {"profile", profile}}}};
  const Result<Problem> problem = ParseProblem(spec.dump(), "spec", {}, Needs::kCluster);
  if (!problem) return tl::unexpected(problem.error());
  const Result<SourcePtr> source = ReadSource(truth, {});
  if (!source) return tl::unexpected(source.error());
  const Result<std::vector<Json>> records = ReadRecords(*source);
  if (!records) return tl::unexpected(records.error());

  const Communicator group(problem->machine, {problem->machine.Gpus(), 1});
  std::vector<PredictedCollective> all;
  for (const Json& record : *records) {
    const Json& params = record["params"];
    const std::optional<Collective> op = CollectiveOf(params.value("op", ""));
    const Bytes bytes{params.value("bytes", 0.0)};
    if (!op || bytes.value <= 0)
      return Invalid(fmt::format("{}: {} is no collective", truth, params.dump()));
    all.push_back({*op, bytes, {record["median"].get<double>()}, group.Time(*op, bytes)});
  }
  return all;
}
}  // namespace shardplan::evidence
