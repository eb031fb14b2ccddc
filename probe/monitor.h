// SPDX-License-Identifier: Apache-2.0
// Ends a run that cannot go on, and says whose fault it is.
//
// A thread per rank exchanges heartbeats through the store, and cancels the watch on a signal, at
// the deadline, or when a rank died, is silent or holds the others up. What was said once is
// adopted by all ranks, so that all name the same culprit. Where the main thread does not end
// within a grace period (it may hang inside a library), the process ends itself.
#pragma once
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "probe/world.h"

namespace shardplan::probe {

// Pure: the rank that the others wait for: the one with the fewest steps, or, where all are equally
// far, the one that was silent for longest; -1 where none stands out. `lag` is the longest silence
// of each rank since this one's step began.
int Straggler(const std::vector<Beat>& beats, int self, const Beat& mine,
              const std::vector<Seconds>& lag);
// Pure: what `beats` say of a rank other than `self`, which has been in its step for `mine`;
// empty while all is well. `name` names a rank.
std::string FaultOf(const std::vector<Beat>& beats, int self, const Beat& mine,
                    const std::vector<Seconds>& lag, const Limits& limits,
                    const std::function<std::string(int)>& name);

class Monitor {
 public:
  // REQUIRES: world and watch outlive the monitor. A world of one rank has only signals and the
  // deadline.
  static Result<std::unique_ptr<Monitor>> Start(World* world, const Limits& limits, Watch& watch);
  // Tells the others that this rank is done, or why it is not.
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // The error of an operation that failed, or the fault behind it where the monitor finds one in
  // time: a library only says that a connection was closed.
  Error Explain(Error error);

 private:
  Monitor(World* world, const Limits& limits, Watch& watch)
      : world_(world), limits_(limits), watch_(watch) {}
  void Run();
  void Tick();
  Beat Mine(Beat::State state) const;
  // Exchanges beats; finds faults.
  void Listen(Beat::State state);

  World* world_;
  Limits limits_;
  Watch& watch_;
  std::unique_ptr<StoreClient> store_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<Beat> beats_;  // as last heard
  std::vector<Seconds> lag_;
  long lag_step_ = 0;
  bool alone_ = true;
  bool blamed_ = false;  // the watch's reason names another rank
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};
}  // namespace shardplan::probe
