// SPDX-License-Identifier: Apache-2.0
#include "planner/import/names.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "planner/base/text.h"
#include "planner/import/draft.h"
#include "planner/spec/catalogue.h"
#include "planner/spec/free_value.h"
#include "planner/spec/local_cluster.h"
#include "planner/spec/reader.h"

namespace shardplan {
namespace {

// Words of names that say how a checkpoint was finished, not which model it is.
const std::set<std::string>& Finishes() {
  static const std::set<std::string> words = {
      "hf",    "instruct", "chat",     "base", "it",   "pt",           "v0",   "v1",    "1",
      "meta",  "pre",      "training", "bf16", "fp16", "bnb",          "4bit", "8bit",  "tokenizer",
      "model", "2507",     "0",        "3t",   "1t",   "intermediate", "step", "1431k", "preview"};
  return words;
}

// The words in one, so that qwen2.5, Qwen-2.5 and llama3 (for llama-3) compare.
std::string Essence(std::string_view name, bool drop) {
  std::string essence;
  for (const std::string& word : WordsOf(name))
    if (!drop || Finishes().count(word) == 0) essence += word;
  return essence;
}

bool NamesGpu(const std::string& word) {
  return word.find_first_of("0123456789") != std::string::npos && !word.ends_with("gb");
}
}  // namespace

std::optional<std::string> ModelPresetOf(std::string_view name) {
  if (IsUnknown(name)) {
    // A path whose beginning is not known still ends in the model's name.
    const std::size_t slash = name.rfind('/');
    if (slash == std::string_view::npos || IsUnknown(name.substr(slash))) return std::nullopt;
  }
  while (!name.empty() && name.back() == '/') name.remove_suffix(1);
  const std::string_view tail = name.substr(name.rfind('/') + 1);
  const std::string whole = Essence(tail, false), core = Essence(tail, true);
  std::optional<std::string> found;
  for (const std::string& preset : EntryNames("models")) {
    const std::string essence = Essence(preset, false);
    if (essence == whole || essence == core || Essence(preset, true) == core) {
      if (essence == whole) return preset;
      if (!found || essence == core) found = preset;
    }
  }
  return found;
}

std::optional<int> VocabularyOf(const std::string& preset) {
  v1::ModelConfig config;
  SourceMap map;
  if (!ReadEntry("models", preset, {}, &config, &map)) return std::nullopt;
  const nlohmann::json keys = JsonOf(config.keys());
  const auto found = keys.find("vocab_size");
  if (found == keys.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int>();
}

std::vector<std::string> GpuEntriesOf(std::string_view name, double memory) {
  std::vector<std::pair<std::string, double>> entries;
  std::vector<std::string> fitting;
  const std::vector<std::string> asked = WordsOf(name);
  for (const std::string& entry : EntryNames("gpus")) {
    v1::Gpu gpu;
    SourceMap map;
    if (!ReadEntry("gpus", entry, {}, &gpu, &map)) continue;
    entries.emplace_back(entry, gpu.memory());
    const std::vector<std::string> words = WordsOf(entry);
    const auto has = [&](const std::string& word) {
      return std::find(words.begin(), words.end(), word) != words.end();
    };
    bool model = false, contradicts = false;
    for (std::string word : asked) {
      if (word.starts_with("sxm")) word = "sxm";
      model = model || (NamesGpu(word) && has(word)) || (word.starts_with("gb") && has(word));
      contradicts =
          contradicts || ((word == "sxm" || word == "pcie" || word == "nvl") && !has(word));
      const bool size = word.ends_with("gb") && word.size() > 2 && std::isdigit(word[0]) != 0;
      const bool sized = std::any_of(words.begin(), words.end(), [](const std::string& w) {
        return w.ends_with("gb") && w.size() > 2;
      });
      contradicts = contradicts || (size && sized && !has(word));
    }
    if (model && !contradicts) fitting.push_back(entry);
  }
  if (memory > 0) {
    const std::string entry = EntryOf({std::string(name), memory, 0}, entries);
    if (!entry.empty()) return {entry};
  }
  // Of one card in several sockets, clusters hold the SXM form.
  std::vector<std::string> sockets;
  for (const std::string& entry : fitting)
    if (entry.find("sxm") != std::string::npos) sockets.push_back(entry);
  return sockets.empty() ? fitting : sockets;
}
}  // namespace shardplan
