// SPDX-License-Identifier: Apache-2.0
// The collective operations, as NCCL has them, and their names in specs, commands and records.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

enum class Collective {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kSendRecv  // to the next rank of the group, from the one before
};
inline constexpr int kCollectives = 7;

const char* Name(Collective op);  // "all_reduce"
std::optional<Collective> CollectiveOf(std::string_view name);
std::vector<std::string> CollectiveNames();
}  // namespace shardplan
