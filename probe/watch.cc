// SPDX-License-Identifier: Apache-2.0
#include "probe/watch.h"

#include <utility>

namespace shardplan::probe {

void Watch::Begin(std::string what) {
  const std::lock_guard lock(mutex_);
  activity_ = {activity_.steps + 1, std::move(what), std::chrono::steady_clock::now()};
}

Activity Watch::activity() const {
  const std::lock_guard lock(mutex_);
  return activity_;
}

void Watch::Cancel(Error reason) {
  const std::lock_guard lock(mutex_);
  if (reason_) return;
  reason_ = std::move(reason);
  cancelled_.store(true, std::memory_order_release);
}

std::optional<Error> Watch::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}
}  // namespace shardplan::probe
