// SPDX-License-Identifier: Apache-2.0
#include "planner/report/json.h"

#include <cmath>
#include <cstdint>

namespace shardplan {

Json WholeNumber(double value) {
  if (value == std::floor(value) && std::abs(value) < 0x1p53)
    return static_cast<std::int64_t>(value);
  return value;
}

Json SubjectJson(const Subject& subject) {
  const ParameterCount count = CountParameters(*subject.model);
  Json json{{"name", subject.title},
            {"parameters", WholeNumber(count.total)},
            {"active_parameters", WholeNumber(count.active)},
            {"flops_per_token", ModelFlopsPerToken(*subject.model, subject.training->seq_length)}};
  if (!subject.notes.empty()) json["notes"] = subject.notes;
  return json;
}

Json ClusterJson(const Machine& machine) {
  return {{"name", machine.name},
          {"nodes", machine.nodes},
          {"gpus_per_node", machine.gpus_per_node},
          {"gpus", machine.Gpus()},
          {"gpu", machine.gpu.name},
          {"gpu_memory", WholeNumber(machine.gpu.memory.value)},
          {"scale_up", machine.scale_up.kind},
          {"scale_up_domain", machine.scale_up_domain},
          {"scale_up_bandwidth", machine.scale_up.bandwidth.value},
          {"scale_out", machine.scale_out.nics > 0 ? machine.scale_out.kind : "none"},
          {"scale_out_bandwidth_per_node", machine.scale_out.PerNode().value},
          {"price_per_gpu_hour", machine.price_per_gpu_hour}};
}
}  // namespace shardplan
