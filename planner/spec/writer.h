// SPDX-License-Identifier: Apache-2.0
// A protobuf message as YAML that the reader reads back to the same message.
//
// Fields in the order of their numbers, quantities as bare numbers in the field's unit, repeated
// fields as lists. For `-o yaml`, for tests, and for the spec's hash.
#pragma once
#include <google/protobuf/message.h>

#include <string>

namespace shardplan {

std::string PrintYaml(const google::protobuf::Message& message);
// FNV-1a over the message's deterministic serialization, as 16 hexadecimal digits.
std::string HashOf(const google::protobuf::Message& message);
}  // namespace shardplan
