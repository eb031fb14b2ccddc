// SPDX-License-Identifier: Apache-2.0
// collectives {op, ranks, stride, bytes, dtype, in_place, ...}: one collective over groups that
// tile the world and run at once.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "probe/collective.h"
#include "probe/point.h"
#include "probe/probes.h"

namespace shardplan::probe {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

struct Point {
  CollectiveCall call;
  int ranks = 1, stride = 1;
  std::int64_t bytes = 0;
  bool in_place = false, graph = false, registered = false, check = true;
  bool first_group_only = false;
  std::string split;  // "no", "yes" or "shared": out of a communicator of the whole world
  CommunicatorOptions options;
};

Result<Point> ReadPoint(const Json& json, const World& world) {
  PointReader reader("collectives", json);
  Point point;
  const std::string op = reader.Word("op", CollectiveNames());
  point.ranks = static_cast<int>(reader.Count("ranks"));
  point.stride = static_cast<int>(reader.Count("stride", 1));
  point.bytes = reader.Count("bytes");
  point.call.dtype = reader.Type();
  point.in_place = reader.Flag("in_place", false);
  point.graph = reader.Flag("graph", false);
  point.registered = reader.Flag("registered", false);
  point.check = reader.Flag("check", true);
  point.first_group_only = reader.Word("groups", {"all", "first"}, "all") == "first";
  point.split = reader.Word("split", {"no", "yes", "shared"}, "no");
  point.options.channels = static_cast<int>(reader.Whole("channels", 0));
  point.call.root = static_cast<int>(reader.Whole("root", 0));
  if (const Result<void> read = reader.Done(); !read) return tl::unexpected(read.error());

  point.call.op = *CollectiveOf(op);
  if (GroupsOf(world.size(), point.ranks, point.stride).empty())
    return Invalid(fmt::format(
        "collectives: groups of {} ranks, {} apart, do not tile {} ranks: ranks x stride must "
        "divide them",
        point.ranks, point.stride, world.size()));
  if (point.call.root >= point.ranks)
    return Invalid(
        fmt::format("collectives: root {} is not below ranks, {}", point.call.root, point.ranks));
  const auto count = CountOf(point.call.op, point.bytes, point.ranks, point.call.dtype);
  if (!count)
    return Invalid(
        fmt::format("collectives: {} bytes do not divide into elements: {} would work", point.bytes,
                    RoundSize(point.call.op, point.bytes, point.ranks, point.call.dtype)));
  point.call.count = *count;
  if (point.in_place && !InPlaceOf(point.call, 0, point.ranks))
    return Invalid(fmt::format("collectives: {} has no form in place", op));
  return point;
}

class Collectives {
 public:
  Collectives(Session& session, Point point, const Json& json)
      : session_(session), world_(session.world), point_(std::move(point)), json_(json) {
    const auto groups = GroupsOf(world_.size(), point_.ranks, point_.stride);
    group_of_.assign(static_cast<std::size_t>(world_.size()), -1);
    for (std::size_t index = 0; index < groups.size(); ++index) {
      if (point_.first_group_only && index > 0) break;
      for (const int member : groups[index])
        group_of_[static_cast<std::size_t>(member)] = static_cast<int>(index);
      if (std::find(groups[index].begin(), groups[index].end(), world_.rank()) !=
          groups[index].end())
        members_ = groups[index];
    }
  }

  Result<void> Run() {
    if (Result<void> done = Join(); !done) return done;
    const Result<bool> allocated = Allocate();
    if (!allocated) return tl::unexpected(allocated.error());
    if (!*allocated) return {};
    if (Result<void> done = FirstUse(); !done) return done;
    if (Result<void> done = Sample(); !done) return done;
    Report();
    return {};
  }

 private:
  bool Active() const { return !members_.empty(); }
  // REQUIRES: Active().
  Communicator& Comm() const { return *group_->communicator; }
  int Rank() const { return Comm().rank(); }

  void Begin(std::string_view what) {
    session_.watch.Begin(fmt::format("{} of {} bytes, {}, {} ranks: {}", Name(point_.call.op),
                                     point_.bytes, Name(point_.call.dtype), point_.ranks, what));
  }

  // The same on all ranks, or an error of one of them.
  Result<double> Most(double value) {
    const Result<std::vector<double>> values = world_.Gather(value);
    if (!values) return tl::unexpected(values.error());
    double most = -std::numeric_limits<double>::infinity();
    for (const double one : *values)
      if (!std::isnan(one)) most = std::max(most, one);
    return most;
  }

  Result<void> Join() {
    Begin("connecting");
    const std::string shape = fmt::format(
        "{} ranks, stride {}{}, split {}, channels {}", point_.ranks, point_.stride,
        point_.first_group_only ? ", first group" : "", point_.split, point_.options.channels);
    const auto [found, is_new] = session_.groups.try_emplace(shape);
    group_ = &found->second;
    if (!is_new) return {};
    return MemoryOf("init", [&]() -> Result<void> {
      auto made = Make(fmt::format("{}, from {}", shape, Active() ? members_.front() : 0));
      if (!made) return tl::unexpected(made.error());
      group_->communicator = std::move(*made);
      return {};
    });
  }

  Result<std::unique_ptr<Communicator>> Make(const std::string& name) {
    if (point_.split == "no") {
      if (!Active()) return nullptr;
      return session_.device.Connect(world_, members_, name, point_.options);
    }
    const auto [found, is_new] = session_.groups.try_emplace("world");
    if (is_new) {
      std::vector<int> all;
      for (int rank = 0; rank < world_.size(); ++rank) all.push_back(rank);
      auto made = session_.device.Connect(world_, all, "world", point_.options);
      if (!made) return made;
      found->second.communicator = std::move(*made);
    }
    return found->second.communicator->Split(group_of_[static_cast<std::size_t>(world_.rank())],
                                             point_.split == "shared");
  }

  // Runs `use` and, where the device tells, records the memory that it took on each rank.
  template <class Use>
  Result<void> MemoryOf(const std::string& what, Use use) {
    if (session_.device.info().kind != "cuda") return use();
    if (Result<void> met = world_.Barrier(); !met) return met;
    const std::size_t before = session_.device.Memory().free;
    if (Result<void> used = use(); !used) return used;
    // Several ranks may share a GPU, whose memory only tells what all of them took.
    const auto ids = world_.Gather(session_.device.info().id);
    if (!ids) return tl::unexpected(ids.error());
    const auto sharers = std::count(ids->begin(), ids->end(), session_.device.info().id);
    const std::size_t after = session_.device.Memory().free;
    const double taken =
        before > after ? static_cast<double>(before - after) / static_cast<double>(sharers) : 0;
    Record record{.probe = "communicator_memory",
                  .params = {{"op", what}, {"ranks", point_.ranks}, {"stride", point_.stride}},
                  .metric = "bytes",
                  .unit = "B",
                  .summary = {taken, taken, taken, 1, 0, Stop::kGoOn},
                  .more = {{"split", point_.split}, {"ranks_on_gpu", sharers}}};
    if (point_.options.channels > 0) record.params["channels"] = point_.options.channels;
    session_.records.Add(record);
    return world_.Barrier();
  }

  // False where some rank had no room: the point is over, and that rank's error says so.
  Result<bool> Allocate() {
    Begin("allocating");
    Result<void> made;
    if (Active()) made = MakeBuffers();
    if (!made && made.error().code != Code::kResourceExhausted) return tl::unexpected(made.error());
    const Result<double> failed = Most(made ? 0 : 1);
    if (!failed) return tl::unexpected(failed.error());
    if (!made) return tl::unexpected(made.error());
    return *failed == 0;
  }

  Result<void> MakeBuffers() {
    CollectiveCall& call = point_.call;
    const auto place = InPlaceOf(call, Rank(), point_.ranks);
    const BufferSizes sizes = SizesOf(call, point_.ranks);
    const std::size_t first = point_.in_place ? place->bytes : sizes.send;
    Result<Buffer> buffer = session_.device.Allocate(first);
    if (!buffer) return tl::unexpected(buffer.error());
    buffers_.push_back(*buffer);
    call.send = buffer->at(point_.in_place ? place->send : 0);
    call.receive = buffer->at(point_.in_place ? place->receive : 0);
    if (!point_.in_place) {
      buffer = session_.device.Allocate(sizes.receive);
      if (!buffer) return tl::unexpected(buffer.error());
      buffers_.push_back(*buffer);
      call.receive = buffer->at();
    }
    work_ = [this](Stream& stream) { return Comm().Enqueue(point_.call, stream); };
    return {};
  }

  // Registers, fills, runs once and checks what came out.
  Result<void> FirstUse() {
    if (Active() && point_.registered)
      for (const Buffer& buffer : buffers_)
        if (Result<void> done = Comm().Register(buffer); !done) return done;
    if (Active() && point_.check)
      if (Result<void> done = Fill(); !done) return done;
    Begin("first use");
    const auto run = [&]() -> Result<void> {
      if (!Active()) return {};
      if (Result<void> done = work_(session_.stream); !done) return done;
      return session_.stream.Wait();
    };
    const bool is_new = group_->used.insert(point_.call.op).second;
    if (Result<void> done = is_new ? MemoryOf(Name(point_.call.op), run) : run(); !done)
      return done;
    if (point_.check)
      if (Result<void> done = CountWrong(); !done) return done;
    if (Active()) {
      const auto predicted = Comm().Predict(point_.call, session_.stream);
      if (!predicted) return tl::unexpected(predicted.error());
      predicted_ = *predicted;
    }
    if (Active() && point_.graph) {
      Result<Work> captured = session_.device.Capture(work_, session_.stream);
      if (!captured) return tl::unexpected(captured.error());
      work_ = std::move(*captured);
    }
    return {};
  }

  Pattern PatternOf() const {
    const int group = group_of_[static_cast<std::size_t>(world_.rank())];
    return {session_.seed + static_cast<std::uint64_t>(group), LargestExact(point_.call.dtype),
            point_.ranks};
  }

  Result<void> Fill() {
    Begin("filling");
    const Span span = SentBy(point_.call, Rank(), point_.ranks);
    Result<void> done = session_.device.Fill(const_cast<void*>(point_.call.send), point_.call.dtype,
                                             PatternOf(), span, session_.stream);
    if (!done) return done;
    return session_.stream.Wait();
  }

  Result<void> CountWrong() {
    Begin("checking");
    double wrong = 0;
    if (Active())
      for (const Span& span : ExpectedBy(point_.call, Rank(), point_.ranks)) {
        const Result<long> counted = session_.device.CountWrong(
            point_.call.receive, point_.call.dtype, PatternOf(), span, session_.stream);
        if (!counted) return tl::unexpected(counted.error());
        wrong += static_cast<double>(*counted);
      }
    const Result<std::vector<double>> all = world_.Gather(wrong);
    if (!all) return tl::unexpected(all.error());
    wrong_ = 0;
    for (const double one : *all) *wrong_ += static_cast<long>(one);
    return {};
  }

  // A sample as all ranks see it: the mean over a group's ranks, as nccl-tests has it, of the
  // slowest group.
  Result<Seconds> Together(Result<Seconds> mine) {
    if (!mine) return mine;
    const Result<std::vector<double>> times = world_.Gather(Active() ? mine->value : kAbsent);
    if (!times) return tl::unexpected(times.error());
    std::map<int, std::pair<double, int>> groups;
    for (std::size_t rank = 0; rank < times->size(); ++rank)
      if (group_of_[rank] >= 0) {
        groups[group_of_[rank]].first += (*times)[rank];
        ++groups[group_of_[rank]].second;
      }
    double slowest = 0;
    for (const auto& [group, sum] : groups) slowest = std::max(slowest, sum.first / sum.second);
    return Seconds{slowest};
  }

  // `runs` in a row, after `lead` runs that bring the ranks into step.
  Result<Seconds> Time(int runs, int lead) {
    if (!Active()) return Seconds{};
    for (int run = 0; run < lead; ++run)
      if (const Result<void> done = work_(session_.stream); !done)
        return tl::unexpected(done.error());
    return TimeOf(session_.device, session_.stream, work_, runs);
  }

  Result<void> Sample() {
    const MeasureOptions& options = session_.measure;
    Begin("warming up");
    const Result<Seconds> once = Together(Time(1, std::max(1, options.warm_up)));
    if (!once) return tl::unexpected(once.error());
    // Ranks leave a gathering up to some tens of microseconds apart: samples are much longer.
    const Seconds least = Max(options.least_sample, Seconds{4e-3});
    const int runs =
        static_cast<int>(std::clamp(least.value / std::max(once->value, 1e-7), 1.0, 2000.0));
    Stop stop = Stop::kGoOn;
    std::vector<double> samples;
    Seconds spent{};
    while (stop == Stop::kGoOn) {
      Begin(fmt::format("sample {}", samples.size() + 1));
      const Result<Seconds> time = Together(Time(runs, runs > 1 ? 1 : 0));
      if (!time) return tl::unexpected(time.error());
      samples.push_back(time->value);
      spent += *time * runs;
      stop = Judge(options.rule, samples, spent);
    }
    summary_ = Summarize(samples, stop);
    return {};
  }

  void Report() {
    const double bandwidth = static_cast<double>(point_.bytes) / summary_.median;
    Record record{.probe = "collectives",
                  .params = json_,
                  .summary = summary_,
                  .wrong = wrong_,
                  .more = {{"count", point_.call.count},
                           {"algbw", bandwidth},
                           {"busbw", bandwidth * BusFactor(point_.call.op, point_.ranks)}}};
    if (predicted_) record.more["nccl_predicted"] = predicted_->value;
    session_.records.Add(record);
  }

  Session& session_;
  World& world_;
  Point point_;
  const Json& json_;
  std::vector<int> group_of_;  // each rank's group; -1: it takes no part
  std::vector<int> members_;   // of this rank's group
  Group* group_ = nullptr;
  std::vector<Buffer> buffers_;
  Work work_;
  std::optional<long> wrong_;
  std::optional<Seconds> predicted_;
  Summary summary_;
};
}  // namespace

Result<void> MeasureCollectives(Session& session, const Json& json) {
  Result<Point> point = ReadPoint(json, session.world);
  if (!point) return tl::unexpected(point.error());
  return Collectives(session, std::move(*point), json).Run();
}
}  // namespace shardplan::probe
