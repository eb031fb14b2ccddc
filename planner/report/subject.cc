// SPDX-License-Identifier: Apache-2.0
#include "planner/report/subject.h"

#include <fmt/format.h>

#include "planner/framework/framework.h"

namespace shardplan {

std::string_view Name(Precision precision) {
  switch (precision) {
    case Precision::kBf16Mixed:
      return "bf16-mixed";
    case Precision::kFp16Mixed:
      return "fp16-mixed";
    case Precision::kBf16True:
      return "bf16-true";
    case Precision::kFp16True:
      return "fp16-true";
    case Precision::kFp32:
      return "fp32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kFp8:
      return "fp8";
    case Precision::kMxfp8:
      return "mxfp8";
    case Precision::kNvfp4:
      return "nvfp4";
  }
  return "";
}

std::string Headline(const Subject& subject) {
  const Machine& machine = *subject.machine;
  const Training& training = *subject.training;
  const std::string nodes =
      machine.nodes > 1 ? fmt::format(" ({} per node)", machine.gpus_per_node) : "";
  return fmt::format("{} on {} x {}{}, seq_length {}, global_batch_size {}, {}, {} {}\n",
                     subject.title, machine.Gpus(), machine.gpu.name, nodes, training.seq_length,
                     training.global_batch_size, Name(training.precision),
                     FrameworkOf(training.framework).name, training.framework_version) +
         NoteLines(subject);
}

std::string NoteLines(const Subject& subject) {
  std::string text;
  for (const std::string& note : subject.notes) text += "note: " + note + "\n";
  return text;
}

std::string_view Basis(const Machine& machine) {
  const bool kernels = machine.gpu.profile != nullptr, traffic = machine.profile != nullptr;
  if (kernels && (traffic || machine.Gpus() == 1)) return "measured";
  return kernels || traffic ? "mixed" : "datasheet";
}

std::string BasisLine(const Machine& machine) {
  if (Basis(machine) == "datasheet")
    return "numbers: predicted from data sheets; cluster.profile puts measured ones in their "
           "place\n";
  const bool all = Basis(machine) == "measured";
  return fmt::format("numbers: predicted from measurements{}\n",
                     all                   ? ""
                     : machine.gpu.profile ? " of kernels, and data sheets of the network"
                                           : " of the network, and data sheets of the GPU");
}
}  // namespace shardplan
