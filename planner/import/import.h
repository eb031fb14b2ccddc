// SPDX-License-Identifier: Apache-2.0
// From a user's files to a spec: launch scripts, frameworks' configurations, descriptions of a
// cluster.
//
// Each file's format is found from its content, and all files describe one job: a Slurm script, the
// DeepSpeed JSON that it names, the model's config.json, what nvidia-smi says of a node. Pure but
// for `open` and the catalogue.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/import/imported.h"

namespace shardplan {

struct ImportFile {
  std::string name;  // for messages
  std::string text;
};

struct ImportOptions {
  std::vector<std::string> sets;     // --set KEY=VALUE, over what the files say
  std::vector<std::string> defines;  // NAME=VALUE: variables that a script takes from outside
  // The text of a file that a script names and that is not among the files; may be null.
  std::function<std::optional<std::string>(const std::string& path)> open;
};

// An error where no file can be understood, or a setting makes no sense: where, and what would.
Result<Imported> Import(const std::vector<ImportFile>& files, const ImportOptions& options);
}  // namespace shardplan
