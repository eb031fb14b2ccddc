// SPDX-License-Identifier: Apache-2.0
#include "planner/report/model_report.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "planner/framework/framework.h"

namespace shardplan {
namespace {

struct LayerGroup {
  std::string kind;
  int count = 0;
  double parameters = 0;  // of one layer
};

// Layers by the block that they use, in order of first use.
std::vector<LayerGroup> GroupsOf(const Model& model) {
  std::vector<LayerGroup> groups;
  std::map<int, std::size_t> group_of;
  for (const int layer : model.layers) {
    const auto [at, is_new] = group_of.try_emplace(layer, groups.size());
    if (is_new) {
      const Block& block = model.blocks[static_cast<std::size_t>(layer)];
      groups.push_back({block.kind, 0, CountParameters(block)});
    }
    ++groups[at->second].count;
  }
  return groups;
}

// FLOPs per token depend on the sequence: what the spec trains at, or the longest that the model
// takes.
double SequenceOf(const Subject& subject) {
  if (subject.training->seq_length > 0) return subject.training->seq_length;
  return subject.model->facts.max_positions > 0 ? subject.model->facts.max_positions : 2048;
}

// Bytes that the framework keeps per parameter, unsharded.
struct State {
  double parameters, gradients, optimizer;
  double Total() const { return parameters + gradients + optimizer; }
};
State StateOf(const Subject& subject) {
  const Training& training = *subject.training;
  const Conventions conventions =
      FrameworkOf(training.framework).conventions(training, *subject.model);
  return {conventions.parameter_bytes, conventions.gradient_bytes,
          conventions.master_bytes + conventions.moment_bytes};
}

// The head and the final norm: what is neither embedding nor layer.
double HeadParameters(const ParameterCount& count, const std::vector<LayerGroup>& groups) {
  double rest = count.total - count.embedding;
  for (const LayerGroup& group : groups) rest -= group.count * group.parameters;
  return rest;
}
}  // namespace

std::string ModelReport(const Subject& subject, const Look& look) {
  const Model& model = *subject.model;
  const ParameterCount count = CountParameters(model);
  const std::vector<LayerGroup> groups = GroupsOf(model);
  const double sequence = SequenceOf(subject);

  std::string text =
      fmt::format("{} ({}): {} parameters", subject.title, model.family, FormatCount(count.total));
  if (count.active != count.total) text += fmt::format(", {} active", FormatCount(count.active));
  Table table(
      {{"part", Table::Align::kLeft}, {"count"}, {"parameters each"}, {"parameters"}, {"share"}});
  const auto add = [&](const std::string& kind, double number, double each) {
    table.Add({kind, FormatCount(number), FormatCount(each), FormatCount(number * each),
               FormatPercent(number * each / count.total)});
  };
  add("embedding", 1, count.embedding);
  for (const LayerGroup& group : groups) add(group.kind, group.count, group.parameters);
  if (const double head = HeadParameters(count, groups); head > 0) add("head", 1, head);
  text += "\n" + NoteLines(subject) + table.Print(look);
  if (count.mtp > 0)
    text +=
        fmt::format("besides: {} parameters of multi-token prediction\n", FormatCount(count.mtp));

  const double flops = ModelFlopsPerToken(model, sequence);
  text += fmt::format("{} GFLOP per token, forward and backward, at seq_length {:.0f}\n",
                      FormatFigure(flops / 1e9), sequence);
  const State state = StateOf(subject);
  text += fmt::format(
      "state, {} with {}: {} ({:g} bytes a parameter: parameters {:g}, gradients {:g}, optimizer "
      "{:g})\n",
      Name(subject.training->precision), FrameworkOf(subject.training->framework).name,
      FormatBytes({state.Total() * count.total}), state.Total(), state.parameters, state.gradients,
      state.optimizer);
  return text;
}

Json ModelJson(const Subject& subject) {
  const Model& model = *subject.model;
  const ParameterCount count = CountParameters(model);
  const std::vector<LayerGroup> groups = GroupsOf(model);
  const double sequence = SequenceOf(subject);
  const State state = StateOf(subject);
  Json layers = Json::array();
  for (const LayerGroup& group : groups)
    layers.push_back({{"kind", group.kind},
                      {"count", group.count},
                      {"parameters", WholeNumber(group.parameters)}});
  Json json{{"schema", kSchema},
            {"name", subject.title},
            {"family", model.family},
            {"parameters", WholeNumber(count.total)},
            {"active_parameters", WholeNumber(count.active)},
            {"embedding_parameters", WholeNumber(count.embedding)},
            {"head_parameters", WholeNumber(HeadParameters(count, groups))},
            {"mtp_parameters", WholeNumber(count.mtp)},
            {"layers", layers},
            {"flops_per_token", ModelFlopsPerToken(model, sequence)},
            {"seq_length", WholeNumber(sequence)},
            {"state",
             {{"framework", FrameworkOf(subject.training->framework).name},
              {"precision", Name(subject.training->precision)},
              {"parameters", WholeNumber(state.parameters * count.total)},
              {"gradients", WholeNumber(state.gradients * count.total)},
              {"optimizer_states", WholeNumber(state.optimizer * count.total)}}}};
  if (!subject.notes.empty()) json["notes"] = subject.notes;
  return json;
}
}  // namespace shardplan
