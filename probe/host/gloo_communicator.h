// SPDX-License-Identifier: Apache-2.0
// Collectives over TCP through Gloo.
#pragma once
#include <gloo/rendezvous/context.h>
#include <gloo/transport/device.h>

#include <memory>
#include <string>
#include <vector>

#include "probe/communicator.h"

namespace shardplan::probe {

class GlooCommunicator : public Communicator {
 public:
  static Result<std::unique_ptr<Communicator>> Connect(World& world,
                                                       const std::vector<int>& members,
                                                       const std::string& name);
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  Result<void> Enqueue(const CollectiveCall& call, Stream& stream) override;
  Result<void> Register(const Buffer& buffer) override;
  Result<std::unique_ptr<Communicator>> Split(int color, bool share) override;

 private:
  GlooCommunicator(World& world, std::vector<int> members, std::string name);
  void Run(const CollectiveCall& call);  // throws Gloo's exceptions
  void ReduceScatter(const CollectiveCall& call);
  void SendRecv(const CollectiveCall& call);

  World& world_;
  std::vector<int> members_;
  std::string name_;
  int rank_ = 0;
  int splits_ = 0;
  std::vector<char> scratch_;  // what a ring has received, and what it adds up
  std::shared_ptr<gloo::transport::Device> device_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
};
}  // namespace shardplan::probe
