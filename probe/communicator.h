// SPDX-License-Identifier: Apache-2.0
// Collectives over one group of ranks: Gloo's on the host device, NCCL's on cuda.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/base/collective_op.h"
#include "probe/device.h"
#include "probe/world.h"

namespace shardplan::probe {

bool Reduces(Collective op);

// One call. `count` is elements as NCCL's functions take them: of the whole buffer for all_reduce,
// broadcast, reduce and send_recv, of one rank's block for the others. Reductions are sums.
struct CollectiveCall {
  Collective op = Collective::kAllReduce;
  Dtype dtype = Dtype::kFp32;
  std::size_t count = 0;
  const void* send = nullptr;
  void* receive = nullptr;  // equal to `send`, or the rank's own block of it: in place
  int root = 0;
};

struct CommunicatorOptions {
  int channels = 0;  // at least and at most so many, where the library has them; 0: its own choice
};

// Made by Device::Connect.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Result<void> Enqueue(const CollectiveCall& call, Stream& stream) = 0;
  // What the library itself expects; unset where it has no model of it.
  virtual Result<std::optional<Seconds>> Predict(const CollectiveCall&, Stream&) {
    return std::optional<Seconds>();
  }
  // Lets the library use `buffer` without copies, until the communicator ends.
  virtual Result<void> Register(const Buffer& buffer) = 0;
  // Those ranks that give the same colour, in their order; null for a negative one. `share`: the
  // child uses its parent's buffers. Every rank of the group must call.
  virtual Result<std::unique_ptr<Communicator>> Split(int color, bool share) = 0;
};
}  // namespace shardplan::probe
