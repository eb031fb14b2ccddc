// SPDX-License-Identifier: Apache-2.0
// A loop over independent iterations on several threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace shardplan {

// Calls body(worker, i) once for each i of [begin, end); a thread takes the next i when it is done
// with one. `worker` is below `threads` and never used by two threads at once. Which worker gets
// which i differs from run to run: what is kept of a run must not depend on it.
template <class Body>
void ParallelFor(int threads, std::size_t begin, std::size_t end, const Body& body) {
  std::atomic<std::size_t> next{begin};
  const auto work = [&](int worker) {
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < end;) body(worker, i);
  };
  const int helpers =
      static_cast<int>(std::min(static_cast<std::size_t>(threads), end - begin)) - 1;
  std::vector<std::jthread> pool;
  try {
    for (int worker = 1; worker <= helpers; ++worker) pool.emplace_back(work, worker);
  } catch (const std::system_error&) {
    // The system gives no more threads: those that there are do the work.
  }
  work(0);
}
}  // namespace shardplan
