// SPDX-License-Identifier: Apache-2.0
// A protobuf message as YAML that the reader reads back to the same message.
//
// Fields in the order of their numbers, quantities as bare numbers in the field's unit, the short
// form where the reader takes one. For what `import` prints, and for tests; also the spec's hash.
#pragma once
#include <google/protobuf/message.h>

#include <functional>
#include <string>

namespace shardplan {

// `remark`: what to say of the key at a path ("plan.tp"), as a comment behind it; empty: nothing.
using Remark = std::function<std::string(const std::string& path)>;
std::string PrintYaml(const google::protobuf::Message& message, const Remark& remark = {});
// FNV-1a over the message's deterministic serialization, as 16 hexadecimal digits.
std::string HashOf(const google::protobuf::Message& message);
}  // namespace shardplan
