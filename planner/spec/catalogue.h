// SPDX-License-Identifier: Apache-2.0
// Files that a spec refers to: catalogue entries under configs/, and files of the user's.
#pragma once
#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

#include "planner/spec/source.h"

namespace shardplan {

// A key that names a file or an entry, for errors about what it names.
struct Reference {
  Place place;
  std::string path;
};

// The text of a regular file, or an error that says why it cannot be read.
Result<SourcePtr> ReadSource(const std::string& path, const Reference& from);

// Names of the entries of configs/FOLDER, sorted.
std::vector<std::string> EntryNames(std::string_view folder);

// Fills `entry` from configs/FOLDER/NAME.yaml. An unknown name is an error at `from`, with the
// nearest known one; a mistake inside the file is an error there.
Result<void> ReadEntry(std::string_view folder, const std::string& name, const Reference& from,
                       google::protobuf::Message* entry, SourceMap* map);
}  // namespace shardplan
