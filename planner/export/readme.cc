// SPDX-License-Identifier: Apache-2.0
#include "planner/export/readme.h"

#include <fmt/format.h>

#include "planner/report/plan_text.h"
#include "planner/report/text.h"

namespace shardplan {
namespace {

std::string Start(const ExportJob& job, const Launcher& launcher, const Script& script) {
  std::string text = "## Start\n\n";
  for (const std::string& need : script.needs) text += fmt::format("- {}\n", need);
  text += fmt::format("\n```\n{}\n```\n", launcher.start);
  if (launcher.name == "torchrun" && job.Nodes() > 1)
    text += fmt::format(
        "\nRun it on each of the {} nodes, from a copy of this directory, with `NODE_RANK` (0 to "
        "{}), `MASTER_ADDR` (node 0) and, if 29400 is taken, `MASTER_PORT` set.\n",
        job.Nodes(), job.Nodes() - 1);
  return text + "\nArguments of `train.sh` go to the training program, after the plan's.\n";
}

std::string Predictions(const ExportJob& job) {
  const Evaluation& e = job.evaluation;
  std::string text = "## Predicted\n\n| figure | value | 4 of 5 cases |\n|---|---|---|\n";
  text += fmt::format("| step | {} | {} to {} |\n", FormatSeconds(e.step.Time()),
                      FormatSeconds(e.time_interval[0]), FormatSeconds(e.time_interval[1]));
  text += fmt::format("| tokens per second and GPU | {} | |\n",
                      FormatCount(e.tokens_per_second_per_gpu));
  text += fmt::format("| model FLOPs utilization | {} | |\n", FormatPercent(e.mfu));
  text += fmt::format("| memory allocated, fullest GPU | {} | {} to {} |\n",
                      FormatBytes(e.peak_allocated), FormatBytes(e.memory_interval[0]),
                      FormatBytes(e.memory_interval[1]));
  text += fmt::format("| memory that nvidia-smi shows | {} of {} | |\n", FormatBytes(e.peak_device),
                      FormatBytes(e.capacity));
  text += fmt::format("| verdict | {}, chance of running out of memory {} | |\n", Name(e.verdict),
                      FormatPercent(e.p_oom));
  return text + "\n" + BasisLine(job.machine());
}

std::string Losses(const Chosen& chosen, const Script& script) {
  std::string text = "## What the target cannot express\n\n";
  if (script.losses.empty()) return text + "Nothing: every choice of the plan is in these files.\n";
  text += fmt::format("| of the plan | under {} {} |\n|---|---|\n", chosen.target->name,
                      chosen.version);
  for (const Loss& loss : script.losses)
    text += fmt::format("| {} | {} |\n", loss.what, loss.instead);
  return text;
}
}  // namespace

File ReadmeFile(const ExportJob& job, const Chosen& chosen, const Launcher& launcher,
                const Script& script, const std::vector<File>& files) {
  std::string text = fmt::format("# {} for {} {}, started by {}\n\n", job.subject.title,
                                 chosen.target->name, chosen.version, launcher.name);
  text += Headline(job.subject);
  text += fmt::format("\nplan: {}\n\n{} (shardplan {}, spec {})\n\n", PlanText(job.plan()),
                      job.origin, job.subject.version, job.subject.spec_hash);
  text += Start(job, launcher, script) + "\n" + Predictions(job) + "\n" + Losses(chosen, script);
  text += "\n## Files\n\n";
  for (const File& file : files) text += fmt::format("- `{}`\n", file.path);
  return {"README.md", text};
}
}  // namespace shardplan
