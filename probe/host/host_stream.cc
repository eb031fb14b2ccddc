// SPDX-License-Identifier: Apache-2.0
#include "probe/host/host_stream.h"

#include <utility>

namespace shardplan::probe {
namespace {
constexpr std::chrono::milliseconds kGlance{20};  // how often a wait looks at the watch
}

void HostEvent::Pass() {
  const std::lock_guard lock(mutex_);
  time_ = std::chrono::steady_clock::now();
  done_ = true;
  passed_.notify_all();
}

bool HostEvent::WaitFor(const Watch& watch) {
  std::unique_lock lock(mutex_);
  while (!passed_.wait_for(lock, kGlance, [&] { return done_; }))
    if (watch.cancelled()) return false;
  return true;
}

HostStream::HostStream(const Watch& watch) : watch_(watch), thread_([this] { Serve(state_); }) {}

HostStream::~HostStream() {
  Wait();
  {
    const std::lock_guard lock(state_.mutex);
    state_.closing = true;
    state_.changed.notify_all();
  }
  thread_.join();
}

void HostStream::Serve(State& state) {
  std::unique_lock lock(state.mutex);
  while (true) {
    state.changed.wait(lock, [&] { return !state.tasks.empty() || state.closing; });
    if (state.tasks.empty()) return;
    const Task task = std::move(state.tasks.front());
    state.tasks.pop_front();
    state.busy = true;
    lock.unlock();
    const Result<void> done = task();
    lock.lock();
    state.busy = false;
    if (!done) {
      if (!state.error) state.error = done.error();
      state.tasks.clear();
    }
    if (state.tasks.empty()) state.changed.notify_all();
  }
}

Result<void> HostStream::Run(Task task) {
  const std::lock_guard lock(state_.mutex);
  if (state_.error) return tl::unexpected(*state_.error);
  state_.tasks.push_back(std::move(task));
  state_.changed.notify_all();
  return {};
}

Result<std::shared_ptr<Event>> HostStream::Record() {
  const auto event = std::make_shared<HostEvent>();
  const Result<void> ran = Run([event]() -> Result<void> {
    event->Pass();
    return {};
  });
  if (!ran) return tl::unexpected(ran.error());
  return event;
}

Result<void> HostStream::After(const std::shared_ptr<Event>& event) {
  return Run([this, event]() -> Result<void> {
    if (static_cast<HostEvent&>(*event).WaitFor(watch_)) return {};
    return tl::unexpected(Reason());
  });
}

Error HostStream::Reason() const {
  return watch_.reason().value_or(Error{Code::kCancelled, "cancelled"});
}

Result<void> HostStream::Wait() {
  std::unique_lock lock(state_.mutex);
  const auto idle = [&] { return state_.tasks.empty() && !state_.busy; };
  // A task that runs is waited for whatever happens, for it uses what the caller is about to free.
  // Where it never ends, the monitor ends the process.
  while (!state_.changed.wait_for(lock, kGlance, idle))
    if (watch_.cancelled()) state_.tasks.clear();
  if (watch_.cancelled()) return tl::unexpected(Reason());
  if (!state_.error) return {};
  return tl::unexpected(*std::exchange(state_.error, std::nullopt));
}
}  // namespace shardplan::probe
