// SPDX-License-Identifier: Apache-2.0
// A stream of the host device: a thread that runs closures in order.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "probe/device.h"
#include "probe/watch.h"

namespace shardplan::probe {

class HostEvent : public Event {
 public:
  void Pass();
  // Returns false where the watch cancelled first.
  bool WaitFor(const Watch& watch);
  std::chrono::steady_clock::time_point time() const { return time_; }

 private:
  std::mutex mutex_;
  std::condition_variable passed_;
  bool done_ = false;
  std::chrono::steady_clock::time_point time_;
};

class HostStream : public Stream {
 public:
  using Task = std::function<Result<void>()>;

  explicit HostStream(const Watch& watch);
  ~HostStream() override;
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  // After the first error the tasks behind it are dropped, until Wait has returned it.
  Result<void> Run(Task task);
  Result<std::shared_ptr<Event>> Record() override;
  Result<void> After(const std::shared_ptr<Event>& event) override;
  Result<void> Wait() override;

  static HostStream& Of(Stream& stream) { return static_cast<HostStream&>(stream); }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Task> tasks;
    bool busy = false, closing = false;
    std::optional<Error> error;
  };
  static void Serve(State& state);
  Error Reason() const;

  const Watch& watch_;
  State state_;
  std::thread thread_;
};
}  // namespace shardplan::probe
