// SPDX-License-Identifier: Apache-2.0
#include "planner/export/python_script.h"

#include "planner/base/check.h"

namespace shardplan {

std::string Filled(std::string text,
                   const std::vector<std::pair<std::string_view, std::string>>& values) {
  for (const auto& [name, value] : values) {
    bool found = false;
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size()) {
      text.replace(at, name.size(), value);
      found = true;
    }
    SHARDPLAN_CHECK(found);
  }
  return text;
}

std::string PythonText(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_null()) return "None";
  if (!value.is_array()) return value.dump();  // JSON's strings and numbers are Python's too
  std::string text = "[";
  for (const Json& item : value) text += (text.size() > 1 ? ", " : "") + PythonText(item);
  return text + "]";
}

const char* AttentionName(const Training& training) {
  switch (training.attention) {
    case AttentionImpl::kFlash:
      return "flash_attention_2";
    case AttentionImpl::kSdpa:
      return "sdpa";
    case AttentionImpl::kEager:
      return "eager";
  }
  return "sdpa";
}
}  // namespace shardplan
