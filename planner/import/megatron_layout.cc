// SPDX-License-Identifier: Apache-2.0
#include "planner/import/megatron_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "planner/import/readers.h"

namespace shardplan {
namespace {

constexpr std::size_t kMostLayout = 100'000;

// The layout with its products written out: "(tt|)*2" is "tt|tt|". Nothing where it is none.
std::optional<std::string> WrittenOut(std::string_view text, std::size_t& at, bool inside) {
  std::string out, last;
  while (at < text.size()) {
    const char c = text[at];
    if (c == ')') {
      if (!inside) return std::nullopt;
      break;
    }
    ++at;
    if (c == ',' || c == ' ' || c == '_') continue;
    if (c == '(') {
      if (inside) return std::nullopt;  // Megatron has one level
      const std::optional<std::string> group = WrittenOut(text, at, true);
      if (!group || at >= text.size()) return std::nullopt;
      ++at;
      last = *group;
    } else if (c == 'E' || c == 't' || c == 'm' || c == 'L' || c == '|') {
      last = std::string(1, c);
    } else {
      return std::nullopt;
    }
    std::size_t times = 1;
    if (at < text.size() && text[at] == '*') {
      times = 0;
      for (++at; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at)
        times = std::min<std::size_t>(times * 10 + static_cast<std::size_t>(text[at] - '0'),
                                      kMostLayout);
    }
    if (out.size() + last.size() * times > kMostLayout) return std::nullopt;
    for (std::size_t i = 0; i < times; ++i) out += last;
  }
  return out;
}

// Of the middle stages, where the first or the last has its own number.
void ReadUnevenEnds(SettingList& s, Draft& d, int layers, int pp, int vpp) {
  const Setting* first = s.Take("decoder_first_pipeline_num_layers");
  const Setting* last = s.Take("decoder_last_pipeline_num_layers");
  const bool embedding = s.On("account_for_embedding_in_pipeline_split");
  const bool loss = s.On("account_for_loss_in_pipeline_split");
  if (pp < 2 || (first == nullptr && last == nullptr && !embedding && !loss)) return;
  const auto size = [&](const Setting* setting, const char* name) {
    return setting == nullptr ? std::nullopt : s.Size(name);
  };
  std::optional<int> head = size(first, "decoder_first_pipeline_num_layers");
  std::optional<int> tail = size(last, "decoder_last_pipeline_num_layers");
  const Setting* from = first != nullptr ? first : last;
  if (embedding || loss) {
    from = s.Take(embedding ? "account_for_embedding_in_pipeline_split"
                            : "account_for_loss_in_pipeline_split");
    const int each = (layers + embedding + loss) / pp;
    if ((layers + embedding + loss) % pp != 0)
      return d.Fail(from->spot, from->name,
                    fmt::format("{} layers with embedding and loss do not divide over {} stages",
                                layers + embedding + loss, pp),
                    "Megatron demands it (M3)");
    if (embedding) head = each - 1;
    if (loss) tail = each - 1;
  }
  const int middle = pp - (head ? 1 : 0) - (tail ? 1 : 0);
  const int rest = layers - head.value_or(0) - tail.value_or(0);
  if (rest < 0 || (middle > 0 ? rest % middle != 0 : rest != 0))
    return d.Fail(from->spot, from->name,
                  fmt::format("leaves {} layers for {} stages", rest, middle),
                  "Megatron demands as many for each (M3)");
  std::vector<int> stages(static_cast<std::size_t>(pp), middle > 0 ? rest / middle : 0);
  if (head) stages.front() = *head;
  if (tail) stages.back() = *tail;
  // Of virtual stages, the very first and last are a layer shorter for embedding and loss.
  if (vpp > 1 && (embedding || loss)) {
    const int each = (layers + embedding + loss) / pp / vpp;
    stages.assign(static_cast<std::size_t>(pp) * static_cast<std::size_t>(vpp), each);
    stages.front() -= embedding;
    stages.back() -= loss;
  }
  SetStages(d, stages, *from);
}
}  // namespace

std::optional<std::vector<int>> LayersOfLayout(std::string_view layout) {
  std::size_t at = 0;
  const std::optional<std::string> stages = WrittenOut(layout, at, false);
  if (!stages || at != layout.size() || stages->empty()) return std::nullopt;
  std::vector<int> layers = {0};
  for (const char c : *stages) {
    if (c == '|') layers.push_back(0);
    if (c == 't') ++layers.back();
  }
  return layers;
}

void ReadMegatronLayout(SettingList& s, Draft& d) {
  v1::Plan& plan = d.plan();
  const int pp = plan.pp(0);
  const nlohmann::json& model = d.model();
  const int layers = model.value("num_hidden_layers", 0);
  int vpp = 1;
  if (const Setting* layout = s.Take("pipeline_model_parallel_layout")) {
    const std::string text = layout->values.size() == 1 ? layout->values[0] : "";
    const auto stages = LayersOfLayout(text);
    const int count = stages ? static_cast<int>(stages->size()) : 0;
    if (!stages || count % pp != 0)
      return d.Fail(layout->spot, layout->name,
                    stages ? fmt::format("has {} stages, which {} ranks do not divide", count, pp)
                           : fmt::format("'{}' is no layout", Shown(WithoutMarks(text))),
                    "expected letters E, t, m, L between |, as in Et*3|(tt|)*6L");
    vpp = count / pp;
    SetStages(d, *stages, *layout);
    if (vpp > 1) d.From("plan.vpp", *layout);
  } else {
    if (const auto each = s.Size("num_layers_per_virtual_pipeline_stage", "plan.vpp")) {
      if (pp > 1 && layers > 0 && (layers / pp < *each || layers / pp % *each != 0))
        return d.Fail(
            s.Take("num_layers_per_virtual_pipeline_stage")->spot,
            "num_layers_per_virtual_pipeline_stage",
            fmt::format("{} does not divide the {} layers of a stage", *each, layers / pp),
            "Megatron demands it (M3)");
      if (pp > 1 && layers > 0) vpp = layers / pp / *each;
    }
    if (const auto stages = s.Size("num_virtual_stages_per_pipeline_rank", "plan.vpp"))
      if (pp > 1) vpp = *stages;
    ReadUnevenEnds(s, d, layers, pp, vpp);
  }
  Fix(plan.mutable_vpp(), vpp);
  Fix(plan.mutable_schedule(), vpp > 1 ? v1::SCHEDULE_INTERLEAVED : v1::SCHEDULE_1F1B);
}
}  // namespace shardplan
