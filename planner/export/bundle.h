// SPDX-License-Identifier: Apache-2.0
// What an export is made of, as values: files, settings, variables, and what got lost.
//
// A target (target.h) makes a Script of a plan; a launcher (launcher.h) adds how its nodes are
// started; MakeBundle (export.h) joins both. Nothing here touches a disk or a clock.
#pragma once
#include <string>
#include <vector>

#include "planner/report/json.h"

namespace shardplan {

struct File {
  std::string path;  // relative to the bundle's directory
  std::string text;
  bool executable = false;
};

// Flags or keys that a script sets, under the names of one table of configs/targets. A flag
// without a value is `true`.
struct Settings {
  struct Setting {
    std::string key;
    Json value;
  };
  std::string table;  // "megatron@0.18"
  std::vector<Setting> list;

  void Set(std::string key, Json value = true) {
    list.push_back({std::move(key), std::move(value)});
  }
};

struct Variable {
  std::string name, value;  // an empty value unsets it
  std::string why;
};

// Something of the plan that the target cannot say, and what runs in its place.
struct Loss {
  std::string what;     // "recompute {layers: 10}"
  std::string instead;  // "12 layers, the next multiple of pp x vpp"
};

// What a target makes of a plan: all but how the nodes are started.
struct Script {
  std::vector<File> files;
  std::vector<Settings> settings;
  std::vector<Variable> environment;
  std::vector<Loss> losses;
  std::vector<std::string> needs;  // what must be installed or set, for the README
  std::string setup;  // shell, run by train.sh on each node: arrays that `program` uses
  // Shell words after torchrun's own options: the program and its arguments.
  std::vector<std::string> program;
  // A configuration of accelerate; empty: torchrun starts the ranks.
  std::string accelerate_config;
};

struct Bundle {
  std::vector<File> files;
  std::vector<Settings> settings;
  std::vector<Loss> losses;
};
}  // namespace shardplan
