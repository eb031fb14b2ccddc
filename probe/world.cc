// SPDX-License-Identifier: Apache-2.0
#include "probe/world.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>

#include "probe/wire.h"

namespace shardplan::probe {
namespace {

// An environment variable that holds a whole number from `least` to `most`.
Result<int> WholeOf(const char* name, int otherwise, int least, int most) {
  const char* text = std::getenv(name);
  if (text == nullptr) return otherwise;
  const std::string_view word = text;
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc{} && end == word.data() + word.size() && value >= least && value <= most)
    return value;
  return Invalid(
      fmt::format("{}: '{}' is not a whole number from {} to {}", name, word, least, most));
}

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}
}  // namespace

Result<Seat> SeatOfEnvironment() {
  constexpr int kMost = 1 << 20, kPorts = 65535;
  Seat seat;
  struct Variable {
    const char* name;
    int* value;
    int least, most;
  };
  const std::array<Variable, 6> variables{{{"WORLD_SIZE", &seat.size, 1, kMost},
                                           {"RANK", &seat.rank, 0, kMost},
                                           {"LOCAL_RANK", &seat.local_rank, 0, kMost},
                                           {"MASTER_PORT", &seat.port, 1, kPorts},
                                           {"SHARDPLAN_STORE_PORT", &seat.port, 1, kPorts},
                                           {"SHARDPLAN_STORE_FD", &seat.listener, 3, kMost}}};
  for (const Variable& variable : variables) {
    const Result<int> value =
        WholeOf(variable.name, *variable.value, variable.least, variable.most);
    if (!value) return tl::unexpected(value.error());
    *variable.value = *value;
  }
  if (seat.rank >= seat.size)
    return Invalid(fmt::format("RANK: {} is not below WORLD_SIZE, {}", seat.rank, seat.size));
  if (const char* address = std::getenv("MASTER_ADDR")) seat.address = address;
  return seat;
}

Result<std::unique_ptr<World>> World::Join(const Seat& seat, const Limits& limits, Watch& watch) {
  std::unique_ptr<World> world(new World(seat, limits));
  if (seat.size == 1) {
    world->members_ = {{HostName(), getpid()}};
    return world;
  }
  watch.Begin("joining the other ranks");
  if (seat.rank == 0) {
    const Result<int> listener = seat.listener >= 0 ? seat.listener : ListenOn(seat.port);
    if (!listener) return tl::unexpected(listener.error());
    world->server_ = std::make_unique<StoreServer>(*listener, seat.size);
  }
  Result<std::unique_ptr<StoreClient>> client =
      StoreClient::Connect(seat.address, seat.port, limits.join, &watch);
  if (!client) return tl::unexpected(client.error());
  world->store_ = std::move(*client);
  if (const Result<void> called = world->CallTheRoll(); !called)
    return tl::unexpected(called.error());
  return world;
}

Result<void> World::CallTheRoll() {
  const auto key = [](int rank) { return fmt::format("member/{}", rank); };
  const std::string me = WireWriter().Text(HostName()).Number(getpid()).Take();
  if (Result<void> set = store_->Set(key(rank()), me); !set) return set;
  for (int other = 0; other < size(); ++other) {
    const Result<std::string> member = store_->Get(key(other), limits_.join);
    if (!member && member.error().code == Code::kDeadlineExceeded)
      return tl::unexpected(
          Error{Code::kDeadlineExceeded, fmt::format("rank {} of {} has not joined within {:.3g} s",
                                                     other, size(), limits_.join.value)});
    if (!member) return tl::unexpected(member.error());
    WireReader reader(*member);
    std::string host = reader.Text();
    members_.push_back({std::move(host), static_cast<int>(reader.Number())});
  }
  return {};
}

std::string World::NameOf(int rank) const {
  const Member& member = members_[static_cast<std::size_t>(rank)];
  return fmt::format("rank {} (host {}, pid {})", rank, member.host, member.pid);
}

Result<std::vector<std::string>> World::Gather(const std::string& value) {
  if (size() == 1) return std::vector{value};
  // The monitor ends what takes too long, and says whose fault it is; this is only the last resort.
  const Seconds patience = limits_.operation * 2 + Seconds{60};
  return store_->Gather(fmt::format("gather/{}", gatherings_++), rank(), size(), value, patience);
}

Result<std::vector<double>> World::Gather(double value) {
  const Result<std::vector<std::string>> texts = Gather(fmt::format("{}", value));
  if (!texts) return tl::unexpected(texts.error());
  std::vector<double> values;
  for (const std::string& text : *texts) values.push_back(std::strtod(text.c_str(), nullptr));
  return values;
}

Result<void> World::Barrier() {
  const Result<std::vector<std::string>> all = Gather(std::string());
  if (!all) return tl::unexpected(all.error());
  return {};
}
}  // namespace shardplan::probe
