// SPDX-License-Identifier: Apache-2.0
// collectives SPEC --op OP --ranks N: predicted times of one collective over message sizes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "planner/base/text.h"
#include "planner/cli/command.h"
#include "planner/cli/options.h"
#include "planner/report/collectives_report.h"
#include "planner/spec/quantity_text.h"

namespace shardplan {
namespace {

struct Options {
  SpecOptions spec;
  Format format = Format::kText;
  Collective op = Collective::kAllReduce;
  int ranks = 0;
  int stride = 1;
  std::vector<Bytes> sizes;
};

// A message size in bytes, or what is wrong with it.
Result<Bytes> SizeOf(const std::string& text) {
  const ParsedNumber number = ParseNumber(text, Dimension::kBytes);
  const double bytes = number.value;
  if (number.fault != NumberFault::kNone)
    return Invalid(
        fmt::format("'{}' is not a size; it takes bytes, as in 1KiB,64MiB,1048576", text));
  if (bytes < 1 || bytes > 0x1p50 || bytes != std::floor(bytes))
    return Invalid(fmt::format("'{}' is not a whole number of bytes from 1 to 1PiB", text));
  return Bytes{bytes};
}

// From 1 KiB to 4 GiB by factors of four.
std::vector<Bytes> UsualSizes() {
  std::vector<Bytes> sizes;
  for (int power = 10; power <= 32; power += 2) sizes.push_back({std::ldexp(1, power)});
  return sizes;
}

int Predict(const Options& options) {
  const Result<Problem> problem = ProblemOf(options.spec, Needs::kCluster);
  if (!problem) return Complain(problem.error());
  const Machine& machine = problem->machine;
  const double reach = (options.ranks - 1.0) * options.stride + 1;
  if (reach > machine.Gpus()) {
    const int most = (machine.Gpus() - 1) / options.stride + 1;
    return Complain(
        fmt::format("collectives: {} ranks, {} apart, need {} GPUs and the cluster has {}; "
                    "--ranks takes 1 to {} here",
                    options.ranks, options.stride, reach, machine.Gpus(), most),
        kUsage);
  }
  const Group group{options.ranks, options.stride};
  const Communicator communicator(machine, group);
  std::vector<CollectiveAnswer> answers;
  for (const Bytes size : options.sizes.empty() ? UsualSizes() : options.sizes)
    answers.push_back({options.op, group, size, communicator.Explain(options.op, size)});
  if (options.format == Format::kText)
    return Answer(CollectivesReport(machine, answers, LookOfOutput()));
  return Answer(CollectivesJson(machine, answers), options.format);
}
}  // namespace

std::function<int()> DeclareCollectives(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  AddSpec(app, options->spec);
  app.add_option_function<std::string>(
         "--op", [options](const std::string& text) { options->op = *CollectiveOf(text); },
         fmt::format("{}", fmt::join(CollectiveNames(), ", ")))
      ->type_name("OP")
      ->required()
      ->check(OneOf("collective", CollectiveNames()));
  AddWhole(app, "--ranks", options->ranks, 1, 1 << 24, "ranks of the group")->required();
  AddWhole(app, "--stride", options->stride, 1, 1 << 24,
           "ranks from one member to the next; default 1");
  app.add_option_function<std::string>(
         "--sizes",
         [options](const std::string& text) {
           for (const std::string& word : SplitAt(',', text))
             options->sizes.push_back(*SizeOf(word));
         },
         "message sizes as nccl-tests counts them, as in 1KiB,64MiB; a bare number is bytes; "
         "default "
         "1KiB to 4GiB")
      ->type_name("SIZE,...")
      ->check([](const std::string& text) -> std::string {
        for (const std::string& word : SplitAt(',', text))
          if (const Result<Bytes> size = SizeOf(word); !size) return size.error().message;
        return "";
      });
  AddFormat(app, options->format);
  return [options] { return Predict(*options); };
}
}  // namespace shardplan
