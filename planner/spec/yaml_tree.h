// SPDX-License-Identifier: Apache-2.0
// YAML text as a tree whose nodes know their places. JSON is read by the same.
//
// Of YAML only what a configuration needs is taken: one document, mappings with plain keys, lists,
// scalars. Duplicate keys (which yaml-cpp keeps in silence), anchors, merge keys, tags and several
// documents are errors. Not here: what keys and values mean.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "planner/spec/source.h"

namespace shardplan {

struct YamlMember;

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMapping };
  Kind kind = Kind::kNull;
  std::string text;  // of a scalar
  bool quoted = false;
  Place place;
  std::vector<YamlNode> items;      // of a list
  std::vector<YamlMember> members;  // of a mapping, in the order written, keys distinct
};

struct YamlMember {
  std::string key;
  Place place;  // of the key
  YamlNode value;
};

// REQUIRES: `offset` into the source's text, where the YAML begins (0 but for --set arguments).
// `path` is the key path of the root, for errors.
Result<YamlNode> ParseYaml(const SourcePtr& source, std::size_t offset = 0,
                           const std::string& path = "");

// "plan" and "tp" are "plan.tp".
std::string Join(std::string_view path, std::string_view key);
}  // namespace shardplan
