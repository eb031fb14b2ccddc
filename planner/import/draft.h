// SPDX-License-Identifier: Apache-2.0
// The spec while readers fill it, and the settings that they take their values from.
//
// A format is read in two steps: its text becomes settings (name, values, place), and a framework's
// reader asks for those it knows by name. What no reader asked for is a leftover. The first setting
// that makes no sense is the one error; from then on getters return nothing, so that readers are
// straight-line code.
#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/base/text.h"
#include "planner/import/imported.h"
#include "planner/import/placed.h"
#include "planner/spec/source.h"

namespace shardplan {

struct Setting {
  std::string name;                 // of a flag without dashes, `_` for `-`; of a file its key path
  std::vector<std::string> values;  // may be unknown (planner/import/placed.h); empty: a mere flag
  Spot spot;
  std::string shown;  // as written
  bool read = false;
};

class Draft {
 public:
  explicit Draft(std::vector<SourcePtr> files) : files_(std::move(files)) {}

  v1::Spec& spec() { return imported_.spec; }
  v1::Plan& plan() { return *spec().mutable_plan(); }
  v1::Train& train() { return *spec().mutable_train(); }
  v1::Cluster& cluster() { return *spec().mutable_cluster(); }
  nlohmann::json& model() { return model_; }  // keys of config.json by hand

  int AddFile(SourcePtr file);  // its number, for spots
  int Gpus() const;             // of the cluster; 0: not known
  // GPUs of a node where the cluster's preset, but not the spec, tells them.
  void SetCustomaryNode();
  void From(const std::string& key, const Setting& setting);
  bool Knows(const std::string& key) const { return imported_.origins.count(key) > 0; }
  void Leave(Spot spot, std::string text, std::string why, bool matters);
  void Leave(const Setting& setting, std::string why, bool matters) {
    Leave(setting.spot, setting.shown, std::move(why), matters);
  }
  void Need(std::string key, std::string hint);
  // A key that --set gave: nothing is missing there, and no file says it.
  void Given(const std::string& key);
  void Warn(std::string text) { imported_.warnings.push_back(std::move(text)); }
  void Format(std::string what) { imported_.formats.push_back(std::move(what)); }
  // Keeps the first: `name: what`, then the hint.
  void Fail(Spot spot, std::string_view name, std::string_view what, std::string_view hint);
  void Fail(Error error);
  bool failed() const { return error_.has_value(); }

  // "train.sh:31"
  std::string Where(Spot spot) const;
  Result<Imported> Finish();

 private:
  std::vector<SourcePtr> files_;
  Imported imported_;
  nlohmann::json model_ = nlohmann::json::object();
  int customary_node_ = 0;
  std::optional<Error> error_;
};

class SettingList {
 public:
  explicit SettingList(Draft& draft) : draft_(draft) {}
  void Add(Setting setting) { all_.push_back(std::move(setting)); }
  void Add(const SettingList& others) {
    all_.insert(all_.end(), others.all_.begin(), others.all_.end());
  }
  bool Has(std::string_view name) const;
  bool empty() const { return all_.empty(); }
  // The value of a setting with one, without reading it; else "".
  std::string Text(std::string_view name) const;
  // Moves the settings whose names begin so, without that beginning.
  void Move(const std::string& beginning, SettingList& to);
  const std::vector<Setting>& all() const { return all_; }

  // Each takes the last setting of that name, as argparse does, marks all of the name as read and,
  // where `key` is given, notes that the spec's key comes from it.
  const Setting* Take(std::string_view name, const std::string& key = "");
  // A flag: there, and not `false`. Nothing: not there.
  std::optional<bool> Flag(std::string_view name, const std::string& key = "");
  bool On(std::string_view name, const std::string& key = "") {
    return Flag(name, key).value_or(false);
  }
  std::optional<std::int64_t> Whole(std::string_view name, std::int64_t least,
                                    const std::string& key = "");
  std::optional<int> Size(std::string_view name, const std::string& key = "");  // at least 1
  std::optional<double> Number(std::string_view name, const std::string& key = "");
  std::optional<std::string> Word(std::string_view name, const std::string& key = "");
  std::optional<std::string> OneOf(std::string_view name, const std::vector<std::string>& words,
                                   const std::string& key = "");
  std::vector<std::string> Words(std::string_view name, const std::string& key = "");
  // Read, of no effect on memory, time or legality.
  void Skip(std::string_view name) { Take(name); }
  // Leaves a setting, where it is there and on, with a reason.
  void Leave(std::string_view name, const std::string& why, bool matters = true);
  // What nobody read. `matters`: what a name may change.
  void LeaveRest(const std::function<bool(const Setting&)>& matters);

 private:
  // The one value; nothing, and noted, where it is none, several or unknown.
  std::optional<std::string> Value(const Setting& setting);

  Draft& draft_;
  std::vector<Setting> all_;
};

// A repeated field of a plan with one value.
template <class Field, class Value>
void Fix(Field* field, Value value) {
  field->Clear();
  field->Add(value);
}
}  // namespace shardplan
