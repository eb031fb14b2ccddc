// SPDX-License-Identifier: Apache-2.0
// YAML (or JSON) into any protobuf message, by reflection: the one reader of all files.
//
// Keys are field names; options.proto says what else a value may look like. The first thing that
// does not fit is the one error: file, line, column, key path, the line with a caret, what was
// expected, the nearest valid key or value. Not here: whether keys that are fine each fit together.
#pragma once
#include <google/protobuf/message.h>

#include <string>

#include "planner/spec/source.h"

namespace shardplan {

// Fills `message`, which is empty before, and notes in `map` where each key stands.
Result<void> ReadMessage(const SourcePtr& source, google::protobuf::Message* message,
                         SourceMap* map);

// Replaces one value, as `--set plan.tp=4` does: `argument` is key.path=value, the value is YAML.
Result<void> SetKey(const std::string& argument, google::protobuf::Message* message,
                    SourceMap* map);
}  // namespace shardplan
