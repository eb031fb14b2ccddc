// SPDX-License-Identifier: Apache-2.0
#include "planner/import/draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/base/nearest.h"
#include "planner/spec/catalogue.h"
#include "planner/spec/free_value.h"
#include "planner/spec/quantity_text.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMostWhole = 1'000'000'000'000;

bool IsNo(const std::string& value) {
  const std::string word = Lower(value);
  return word == "false" || word == "no" || word == "0" || word == "off" || word == "none";
}
bool IsYes(const std::string& value) {
  const std::string word = Lower(value);
  return word == "true" || word == "yes" || word == "1" || word == "on";
}
}  // namespace

int Draft::Gpus() const {
  const v1::Cluster& cluster = imported_.spec.cluster();
  const int node = cluster.has_gpus_per_node() ? cluster.gpus_per_node() : customary_node_;
  return static_cast<int>(std::min(std::max(1.0, double{1} * cluster.nodes()) * node, 1e7));
}

void Draft::SetCustomaryNode() {
  v1::Cluster preset;
  SourceMap map;
  const std::string& name = imported_.spec.cluster().preset();
  if (!name.empty() && name != "local" && ReadEntry("clusters", name, {}, &preset, &map))
    customary_node_ = preset.gpus_per_node();
}

int Draft::AddFile(SourcePtr file) {
  files_.push_back(std::move(file));
  return static_cast<int>(files_.size()) - 1;
}

void Draft::Given(const std::string& key) {
  const auto covers = [&](const std::string& other) {
    return other == key || other.rfind(key + ".", 0) == 0 || key.rfind(other + ".", 0) == 0;
  };
  auto& missing = imported_.missing;
  missing.erase(std::remove_if(missing.begin(), missing.end(),
                               [&](const Missing& m) { return covers(m.key); }),
                missing.end());
  for (auto it = imported_.origins.begin(); it != imported_.origins.end();)
    it = covers(it->first) ? imported_.origins.erase(it) : std::next(it);
}

std::string Draft::Where(Spot spot) const {
  if (spot.line <= 0 || spot.file < 0 || static_cast<std::size_t>(spot.file) >= files_.size())
    return "";
  return fmt::format("{}:{}", files_[static_cast<std::size_t>(spot.file)]->name, spot.line);
}

void Draft::From(const std::string& key, const Setting& setting) {
  if (key.empty()) return;
  const std::string where = Where(setting.spot);
  imported_.origins[key] =
      where.empty() ? Shown(setting.shown) : fmt::format("{}, {}", Shown(setting.shown), where);
}

void Draft::Leave(Spot spot, std::string text, std::string why, bool matters) {
  const bool placed = spot.line > 0 && static_cast<std::size_t>(spot.file) < files_.size();
  Leftover leftover{placed ? files_[static_cast<std::size_t>(spot.file)]->name : "", spot.line,
                    Shown(WithoutMarks(text), 100), std::move(why), matters};
  imported_.leftovers.push_back(std::move(leftover));
}

void Draft::Need(std::string key, std::string hint) {
  const auto same = [&](const Missing& missing) { return missing.key == key; };
  if (std::none_of(imported_.missing.begin(), imported_.missing.end(), same))
    imported_.missing.push_back({std::move(key), std::move(hint)});
}

void Draft::Fail(Spot spot, std::string_view name, std::string_view what, std::string_view hint) {
  if (error_) return;
  Place place;
  if (spot.line > 0 && static_cast<std::size_t>(spot.file) < files_.size()) {
    place.source = files_[static_cast<std::size_t>(spot.file)];
    const auto& starts = place.source->line_starts;
    const std::size_t line =
        std::min<std::size_t>(static_cast<std::size_t>(spot.line), starts.size());
    place.offset = line > 0 ? starts[line - 1] : 0;
    // The name as written, with either dash.
    std::string dashed(name);
    std::replace(dashed.begin(), dashed.end(), '_', '-');
    const std::size_t end = line < starts.size() ? starts[line] : place.source->text.size();
    const std::string_view text =
        std::string_view(place.source->text).substr(place.offset, end - place.offset);
    const std::string last(name.substr(name.rfind('.') + 1));  // of a key path
    for (const std::string& word : {std::string(name), dashed, last})
      if (const std::size_t at = text.find(word); at != std::string_view::npos && !word.empty()) {
        place.offset += at;
        place.bytes = word.size();
        break;
      }
  }
  error_ = Error{Code::kInvalidArgument, Explain(place, name, what, hint)};
}

void Draft::Fail(Error error) {
  if (!error_) error_ = std::move(error);
}

Result<Imported> Draft::Finish() {
  if (error_) return tl::unexpected(*error_);
  if (!model_.empty()) *imported_.spec.mutable_model()->mutable_keys() = StructOf(model_);
  std::stable_sort(imported_.leftovers.begin(), imported_.leftovers.end(),
                   [](const Leftover& a, const Leftover& b) { return a.matters > b.matters; });
  return imported_;
}

bool SettingList::Has(std::string_view name) const {
  return std::any_of(all_.begin(), all_.end(), [&](const Setting& s) { return s.name == name; });
}

const Setting* SettingList::Take(std::string_view name, const std::string& key) {
  const Setting* last = nullptr;
  for (Setting& setting : all_) {
    if (setting.name != name) continue;
    setting.read = true;
    last = &setting;
  }
  if (last != nullptr) draft_.From(key, *last);
  return last;
}

std::string SettingList::Text(std::string_view name) const {
  std::string text;
  for (const Setting& setting : all_)
    if (setting.name == name && setting.values.size() == 1) text = setting.values[0];
  return text;
}

void SettingList::Move(const std::string& beginning, SettingList& to) {
  for (Setting& setting : all_) {
    if (setting.name.rfind(beginning, 0) != 0) continue;
    Setting moved = setting;
    moved.name = setting.name.substr(beginning.size());
    to.Add(std::move(moved));
  }
  all_.erase(std::remove_if(all_.begin(), all_.end(),
                            [&](const Setting& s) { return s.name.rfind(beginning, 0) == 0; }),
             all_.end());
}

std::optional<std::string> SettingList::Value(const Setting& setting) {
  if (setting.values.size() == 1 && !IsUnknown(setting.values[0]) && !setting.values[0].empty())
    return setting.values[0];
  if (setting.values.size() == 1 && IsUnknown(setting.values[0])) {
    draft_.Leave(setting,
                 "its value is not known: it comes from outside the files; give it with "
                 "--define NAME=VALUE",
                 true);
  } else if (!draft_.failed()) {
    draft_.Fail(setting.spot, setting.name,
                setting.values.size() > 1 ? "has several values" : "has no value",
                "expected one value");
  }
  return std::nullopt;
}

std::optional<bool> SettingList::Flag(std::string_view name, const std::string& key) {
  const Setting* setting = Take(name, key);
  if (setting == nullptr) return std::nullopt;
  if (setting->values.empty()) return true;
  const std::optional<std::string> value = Value(*setting);
  if (!value || IsNo(*value)) return value ? std::optional<bool>(false) : std::nullopt;
  if (!IsYes(*value))
    draft_.Fail(setting->spot, setting->name,
                fmt::format("'{}' is neither true nor false", Shown(*value)),
                "expected true or false");
  return true;
}

std::optional<std::int64_t> SettingList::Whole(std::string_view name, std::int64_t least,
                                               const std::string& key) {
  const Setting* setting = Take(name, key);
  if (setting == nullptr) return std::nullopt;
  const std::optional<std::string> text = Value(*setting);
  if (!text) return std::nullopt;
  std::string digits = *text;
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  const std::optional<std::int64_t> number = ParseWhole(digits);
  if (number && *number >= least && *number <= kMostWhole) return number;
  draft_.Fail(setting->spot, setting->name,
              fmt::format("'{}' is not a whole number of at least {}", Shown(*text), least),
              fmt::format("expected one such as {}", std::max<std::int64_t>(least, 8)));
  return std::nullopt;
}

std::optional<int> SettingList::Size(std::string_view name, const std::string& key) {
  const Setting* setting = Take(name);
  const std::optional<std::int64_t> number = Whole(name, 1, key);
  if (!number) return std::nullopt;
  constexpr std::int64_t kMostSize = 1'000'000'000;
  if (*number <= kMostSize) return static_cast<int>(*number);
  draft_.Fail(setting->spot, setting->name, fmt::format("{} is beyond any machine", *number),
              "expected at most 1000000000");
  return std::nullopt;
}

std::optional<double> SettingList::Number(std::string_view name, const std::string& key) {
  const Setting* setting = Take(name, key);
  if (setting == nullptr) return std::nullopt;
  const std::optional<std::string> text = Value(*setting);
  if (!text) return std::nullopt;
  std::string digits = *text;  // Python's 220_000_000
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  const ParsedNumber number = ParseNumber(digits, Dimension::kNone);
  if (number.fault == NumberFault::kNone) return number.value;
  draft_.Fail(setting->spot, setting->name, fmt::format("'{}' is not a number", Shown(*text)),
              "expected one such as 0.1");
  return std::nullopt;
}

std::optional<std::string> SettingList::Word(std::string_view name, const std::string& key) {
  const Setting* setting = Take(name, key);
  return setting == nullptr ? std::nullopt : Value(*setting);
}

std::optional<std::string> SettingList::OneOf(std::string_view name,
                                              const std::vector<std::string>& words,
                                              const std::string& key) {
  const Setting* setting = Take(name, key);
  if (setting == nullptr) return std::nullopt;
  const std::optional<std::string> value = Value(*setting);
  if (!value) return std::nullopt;
  const std::string word = Lower(*value);
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&](const std::string& w) { return Lower(w) == word; });
  if (found != words.end()) return *found;
  draft_.Fail(setting->spot, setting->name, fmt::format("does not take '{}'", Shown(*value)),
              Suggest(*value, words, "it takes"));
  return std::nullopt;
}

std::vector<std::string> SettingList::Words(std::string_view name, const std::string& key) {
  const Setting* setting = Take(name, key);
  if (setting == nullptr) return {};
  return setting->values;
}

void SettingList::Leave(std::string_view name, const std::string& why, bool matters) {
  const Setting* setting = Take(name);
  if (setting == nullptr) return;
  const bool off = setting->values.size() == 1 && IsNo(setting->values[0]);
  draft_.Leave(*setting, off ? "off" : why, matters && !off);
}

void SettingList::LeaveRest(const std::function<bool(const Setting&)>& matters) {
  for (Setting& setting : all_) {
    if (setting.read) continue;
    setting.read = true;
    const bool counts = matters(setting);
    draft_.Leave(setting, counts ? "not known to shardplan" : "changes neither memory nor time",
                 counts);
  }
}
}  // namespace shardplan
