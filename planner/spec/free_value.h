// SPDX-License-Identifier: Apache-2.0
// Open mappings (google.protobuf.Struct) as JSON and back: the keys of a config.json.
#pragma once
#include <google/protobuf/struct.pb.h>

#include <nlohmann/json.hpp>

namespace shardplan {

// Whole numbers come out as integers: protobuf knows doubles alone.
nlohmann::json JsonOf(const google::protobuf::Struct& keys);
google::protobuf::Struct StructOf(const nlohmann::json& object);
}  // namespace shardplan
