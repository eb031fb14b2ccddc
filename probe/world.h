// SPDX-License-Identifier: Apache-2.0
// All ranks of a run: who they are, and how they agree.
//
// Ranks run the same program in the same order, so that the n-th gathering of each is the same one.
// A world of one rank needs no store and no network.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "probe/store.h"

namespace shardplan::probe {

// Where this rank belongs, as torchrun's variables say it: RANK, WORLD_SIZE, MASTER_ADDR,
// MASTER_PORT (SHARDPLAN_STORE_PORT before it). SHARDPLAN_STORE_FD is a listening socket that rank
// 0 inherits and serves in place of the port.
struct Seat {
  int rank = 0, size = 1;
  int local_rank = 0;  // LOCAL_RANK: which GPU of its node
  std::string address = "127.0.0.1";
  int port = 29500;  // torchrun's default
  int listener = -1;
};
Result<Seat> SeatOfEnvironment();

struct Limits {
  Seconds join{60};        // until all ranks are there
  Seconds silence{10};     // a rank that is not heard of for longer hangs
  Seconds operation{120};  // one step of the run
  Seconds deadline{0};     // the whole run; 0: none
};

// Who a rank is: what a message names.
struct Member {
  std::string host;
  int pid = 0;
};

class World {
 public:
  static Result<std::unique_ptr<World>> Join(const Seat& seat, const Limits& limits, Watch& watch);
  int rank() const { return seat_.rank; }
  int size() const { return seat_.size; }
  const Seat& seat() const { return seat_; }
  const Limits& limits() const { return limits_; }
  // "rank 2 (host gpu-07, pid 4711)"
  std::string NameOf(int rank) const;
  // The value of each rank. Every rank must call.
  Result<std::vector<std::string>> Gather(const std::string& value);
  Result<std::vector<double>> Gather(double value);
  Result<void> Barrier();
  // For keys of one's own. REQUIRES: size() > 1.
  StoreClient& store() { return *store_; }
  // By which other ranks reach this one.
  std::string Address() const { return store_ ? store_->LocalAddress() : "127.0.0.1"; }

 private:
  World(Seat seat, const Limits& limits) : seat_(std::move(seat)), limits_(limits) {}
  Result<void> CallTheRoll();

  Seat seat_;
  Limits limits_;
  std::unique_ptr<StoreServer> server_;  // on rank 0; outlives the client
  std::unique_ptr<StoreClient> store_;
  std::vector<Member> members_;
  long gatherings_ = 0;
};
}  // namespace shardplan::probe
