// SPDX-License-Identifier: Apache-2.0
// A spec as the message that its text says, with the places of its keys.
#pragma once
#include <string>
#include <vector>

#include "planner/spec/catalogue.h"
#include "planner/spec/source.h"
#include "shardplan/v1/spec.pb.h"

namespace shardplan {

struct SpecText {
  v1::Spec spec;
  SourceMap map;
  std::string directory;  // that relative paths start at

  // An error about the value of `path`.
  tl::unexpected<Error> Fail(const std::string& path, std::string_view what,
                             std::string_view hint) const {
    return InvalidAt(map.ValueOrParent(path), path, what, hint);
  }
  Reference Refer(const std::string& path) const { return {map.ValueOrParent(path), path}; }
};

// Relative paths start at `directory`. Keys are checked each on its own, not yet together.
Result<SpecText> ReadSpec(const SourcePtr& source, const std::string& directory,
                          const std::vector<std::string>& sets);
}  // namespace shardplan
