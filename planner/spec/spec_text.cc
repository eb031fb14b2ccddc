// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/spec_text.h"

#include "planner/spec/reader.h"

namespace shardplan {

Result<SpecText> ReadSpec(const SourcePtr& source, const std::string& directory,
                          const std::vector<std::string>& sets) {
  SpecText text{.directory = directory};
  if (Result<void> read = ReadMessage(source, &text.spec, &text.map); !read)
    return tl::unexpected(read.error());
  for (const std::string& argument : sets)
    if (Result<void> set = SetKey(argument, &text.spec, &text.map); !set)
      return tl::unexpected(set.error());
  return text;
}
}  // namespace shardplan
