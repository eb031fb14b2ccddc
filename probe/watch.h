// SPDX-License-Identifier: Apache-2.0
// What this rank is doing, and whether it must stop: read and written by any thread.
//
// The main thread says what it begins. Whoever finds a reason to end (a signal, a dead peer, the
// deadline) cancels; all that waits looks at cancelled() often enough to end soon.
#pragma once
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "planner/base/result.h"

namespace shardplan::probe {

struct Activity {
  long steps = 0;  // begun so far; equal on all ranks that are equally far
  std::string what;
  std::chrono::steady_clock::time_point since;
};

class Watch {
 public:
  Watch() { activity_ = {0, "starting", std::chrono::steady_clock::now()}; }
  void Begin(std::string what);
  Activity activity() const;

  // The first reason counts.
  void Cancel(Error reason);
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  std::optional<Error> reason() const;

 private:
  mutable std::mutex mutex_;
  Activity activity_;
  std::optional<Error> reason_;
  std::atomic<bool> cancelled_ = false;
};
}  // namespace shardplan::probe
