// SPDX-License-Identifier: Apache-2.0
#include "probe/monitor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace shardplan::probe {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTick{100};
constexpr std::chrono::seconds kGrace{2};  // for the main thread to end by itself
constexpr Seconds kLate{0.4};              // a beat every tick: later than this is late

volatile std::sig_atomic_t signalled = 0;
void OnSignal(int signal) { signalled = signal; }

Seconds Since(Clock::time_point time) {
  return {std::chrono::duration<double>(Clock::now() - time).count()};
}

}  // namespace

int Straggler(const std::vector<Beat>& beats, int self, const Beat& mine,
              const std::vector<Seconds>& lag) {
  int behind = -1, late = -1;
  for (int rank = 0; rank < static_cast<int>(beats.size()); ++rank) {
    if (rank == self) continue;
    const Beat& beat = beats[static_cast<std::size_t>(rank)];
    const auto at = [](int other) { return static_cast<std::size_t>(other); };
    if (beat.steps < mine.steps && (behind < 0 || beat.steps < beats[at(behind)].steps))
      behind = rank;
    if (lag[at(rank)] > kLate && (late < 0 || lag[at(rank)] > lag[at(late)])) late = rank;
  }
  return behind >= 0 ? behind : late;
}

std::string FaultOf(const std::vector<Beat>& beats, int self, const Beat& mine,
                    const std::vector<Seconds>& lag, const Limits& limits,
                    const std::function<std::string(int)>& name) {
  // First what others have already found, then who died, then who is silent, then who is slow.
  for (const Beat& beat : beats)
    if (beat.state == Beat::State::kFaulted && !beat.fault.empty()) return beat.fault;
  for (int rank = 0; rank < static_cast<int>(beats.size()); ++rank) {
    const Beat& beat = beats[static_cast<std::size_t>(rank)];
    if (rank != self && beat.state == Beat::State::kGone)
      return fmt::format("{} died; the last it did: {}", name(rank), beat.doing);
  }
  for (int rank = 0; rank < static_cast<int>(beats.size()); ++rank) {
    const Beat& beat = beats[static_cast<std::size_t>(rank)];
    if (rank != self && beat.state == Beat::State::kAlive && beat.age > limits.silence)
      return fmt::format(
          "{} hangs: not heard of for {:.3g} s (limit {:.3g} s); the last it did: {}", name(rank),
          beat.age.value, limits.silence.value, beat.doing);
  }
  if (beats.size() < 2 || mine.busy < limits.operation) return "";
  const int rank = Straggler(beats, self, mine, lag);
  const std::string waited = fmt::format("{} waited {:.3g} s (limit {:.3g} s) in: {}", name(self),
                                         mine.busy.value, limits.operation.value, mine.doing);
  if (rank < 0)
    return fmt::format("{}; no rank is behind: the network or the device is slow", waited);
  const Beat& beat = beats[static_cast<std::size_t>(rank)];
  if (beat.steps < mine.steps)
    return fmt::format("{} is slow: for {:.3g} s in: {}; {}", name(rank), beat.busy.value,
                       beat.doing, waited);
  return fmt::format("{} is slow: silent for {:.2g} s at times; {}", name(rank),
                     lag[static_cast<std::size_t>(rank)].value, waited);
}

Result<std::unique_ptr<Monitor>> Monitor::Start(World* world, const Limits& limits, Watch& watch) {
  std::unique_ptr<Monitor> monitor(new Monitor(world, limits, watch));
  struct sigaction action {};
  action.sa_handler = OnSignal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);  // nohup means it
  }
  if (world->size() > 1) {
    // Its own connection, which the main thread's waiting does not block; no watch, since it must
    // still tell the others after a cancellation.
    Result<std::unique_ptr<StoreClient>> store =
        StoreClient::Connect(world->seat().address, world->seat().port, limits.join, nullptr);
    if (!store) return tl::unexpected(store.error());
    monitor->store_ = std::move(*store);
    monitor->alone_ = false;
    monitor->lag_.resize(static_cast<std::size_t>(world->size()));
  }
  monitor->thread_ = std::thread([raw = monitor.get()] { raw->Run(); });
  return monitor;
}

Monitor::~Monitor() {
  ended_ = true;
  thread_.join();
}

Error Monitor::Explain(Error error) {
  // The reason reaches this rank with the next beats, or once silence has lasted long enough.
  const Clock::time_point begin = Clock::now();
  const bool others =
      !alone_ && (error.code == Code::kAborted || error.code == Code::kUnavailable ||
                  error.code == Code::kDeadlineExceeded);
  while (others && !watch_.cancelled() && Since(begin) < limits_.silence + Seconds{2})
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const std::optional<Error> reason = watch_.reason();
  if (reason) return *reason;
  watch_.Cancel(error);  // so that the others learn it
  return error;
}

void Monitor::Run() {
  std::optional<Clock::time_point> cancelled;
  while (!ended_) {
    Tick();
    if (watch_.cancelled() && !cancelled) cancelled = Clock::now();
    if (cancelled && Clock::now() - *cancelled > kGrace) {
      const Error reason = *watch_.reason();
      std::fputs(fmt::format("shardplan-probe: {}\n", reason.message).c_str(), stderr);
      std::fflush(stderr);
      _exit(reason.code == Code::kCancelled ? 130 : 1);
    }
    std::this_thread::sleep_for(kTick);
  }
  Listen(watch_.cancelled() ? Beat::State::kFaulted : Beat::State::kDone);
}

void Monitor::Tick() {
  if (signalled != 0)
    watch_.Cancel({Code::kCancelled, fmt::format("interrupted by {}", strsignal(signalled))});
  if (limits_.deadline.value > 0 && Since(begin_) > limits_.deadline && !watch_.cancelled()) {
    const Beat mine = Mine(Beat::State::kAlive);
    std::string message = fmt::format("the deadline of {:.3g} s has passed in: {}",
                                      limits_.deadline.value, mine.doing);
    const int rank = alone_ ? -1 : Straggler(beats_, world_->rank(), mine, lag_);
    if (rank >= 0)
      message += fmt::format("; {} is behind, in: {}", world_->NameOf(rank),
                             beats_[static_cast<std::size_t>(rank)].doing);
    watch_.Cancel({Code::kDeadlineExceeded, message});
  }
  Listen(watch_.cancelled() ? Beat::State::kFaulted : Beat::State::kAlive);
}

Beat Monitor::Mine(Beat::State state) const {
  const Activity activity = watch_.activity();
  Beat beat{.state = state,
            .steps = activity.steps,
            .doing = activity.what,
            .busy = Since(activity.since)};
  if (const std::optional<Error> reason = watch_.reason(); reason && !alone_)
    beat.fault = blamed_ ? reason->message
                         : fmt::format("{}: {}", world_->NameOf(world_->rank()), reason->message);
  return beat;
}

void Monitor::Listen(Beat::State state) {
  if (!store_) return;
  const Beat mine = Mine(state);
  const auto blame = [this](std::string fault) {
    if (watch_.cancelled()) return;
    blamed_ = true;
    watch_.Cancel({Code::kAborted, std::move(fault)});
  };
  Result<std::vector<Beat>> beats = store_->Exchange(world_->rank(), mine, limits_.silence);
  if (!beats) {
    store_.reset();
    const std::string how =
        beats.error().code == Code::kDeadlineExceeded
            ? fmt::format("hangs: not heard of for {:.3g} s", limits_.silence.value)
            : "died";
    if (state == Beat::State::kAlive)
      blame(fmt::format("{} {}; it holds the store", world_->NameOf(0), how));
    return;
  }
  beats_ = std::move(*beats);
  if (lag_step_ != mine.steps) std::fill(lag_.begin(), lag_.end(), Seconds{});
  lag_step_ = mine.steps;
  for (std::size_t rank = 0; rank < lag_.size() && rank < beats_.size(); ++rank)
    lag_[rank] = Max(lag_[rank], beats_[rank].age);
  if (state != Beat::State::kAlive) return;
  std::string fault = FaultOf(beats_, world_->rank(), mine, lag_, limits_,
                              [this](int rank) { return world_->NameOf(rank); });
  if (!fault.empty()) blame(std::move(fault));
}
}  // namespace shardplan::probe
