// SPDX-License-Identifier: Apache-2.0
#include "probe/measure.h"

#include <algorithm>
#include <cmath>

namespace shardplan::probe {
namespace {

// Copies twice the last cache, so that nothing of the operands is left in it.
Result<Work> Evict(Device& device) {
  const std::size_t bytes = 2 * device.info().last_cache;
  const Result<Buffer> from = device.Allocate(bytes), to = device.Allocate(bytes);
  if (!from) return tl::unexpected(from.error());
  if (!to) return tl::unexpected(to.error());
  return Work([&device, from = *from, to = *to](Stream& stream) {
    return device.Copy(to.at(), from.at(), to.bytes, stream);
  });
}

// So many runs of `once` last `time`.
int Repeats(Seconds time, Seconds once) {
  const double repeats = std::ceil(time.value / std::max(once.value, 1e-9));
  return static_cast<int>(std::clamp(repeats, 1.0, 10'000.0));
}

// What one run takes once `work` has run as often and as long as the options want.
Result<Seconds> WarmUp(Device& device, Stream& stream, const Work& work,
                       const MeasureOptions& options) {
  Result<Seconds> once = TimeOf(device, stream, work, std::max(1, options.warm_up));
  if (once) once = TimeOf(device, stream, work, 1);
  // Without a gap, in runs short enough for a cancellation to be seen between them.
  for (Seconds spent{}; once && spent < options.warm_up_time;) {
    const int runs = Repeats(options.warm_up_time / 4, *once);
    once = TimeOf(device, stream, work, runs);
    if (once) spent += *once * runs;
  }
  return once;
}
}  // namespace

Result<Seconds> TimeOf(Device& device, Stream& stream, const Work& work, int runs) {
  const Result<std::shared_ptr<Event>> begin = stream.Record();
  if (!begin) return tl::unexpected(begin.error());
  for (int run = 0; run < runs; ++run)
    if (const Result<void> done = work(stream); !done) return tl::unexpected(done.error());
  const Result<std::shared_ptr<Event>> end = stream.Record();
  if (!end) return tl::unexpected(end.error());
  if (const Result<void> done = stream.Wait(); !done) return tl::unexpected(done.error());
  Result<Seconds> time = device.Between(**begin, **end);
  if (!time) return time;
  return *time / runs;
}

Result<Summary> Measure(Device& device, Stream& stream, const Work& work,
                        const MeasureOptions& options) {
  const Result<Seconds> once = WarmUp(device, stream, work, options);
  if (!once) return tl::unexpected(once.error());

  Work before = options.before;
  if (options.cold) {
    Result<Work> made = Evict(device);
    if (!made) return tl::unexpected(made.error());
    before = std::move(*made);
  }
  const int runs = before ? 1 : Repeats(options.least_sample, *once);
  std::vector<double> samples;
  Seconds spent{};
  Stop stop = Stop::kGoOn;
  while (stop == Stop::kGoOn) {
    if (before)
      if (const Result<void> done = before(stream); !done) return tl::unexpected(done.error());
    const Result<Seconds> time = TimeOf(device, stream, work, runs);
    if (!time) return tl::unexpected(time.error());
    samples.push_back(time->value);
    spent += *time * runs;
    stop = Judge(options.rule, samples, spent);
  }
  return Summarize(samples, stop);
}
}  // namespace shardplan::probe
