// SPDX-License-Identifier: Apache-2.0
// What client and server of the store agree on: frames, requests, beats.
#pragma once
#include <cstring>
#include <optional>
#include <string>

#include "probe/store.h"
#include "probe/wire.h"

namespace shardplan::probe {

enum class StoreOp { kSet = 1, kGet, kGather, kBeat };

// The length in eight bytes, then the message.
inline std::string Frame(std::string_view message) { return WireWriter().Text(message).Take(); }

// The first whole message of `bytes`, which loses it.
inline std::optional<std::string> TakeFrame(std::string& bytes) {
  if (bytes.size() < 8) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(WireReader(bytes).Number());
  if (bytes.size() - 8 < size) return std::nullopt;
  std::string message = bytes.substr(8, size);
  bytes.erase(0, 8 + size);
  return message;
}

inline void WriteBeat(WireWriter& writer, const Beat& beat) {
  const auto micro = [](Seconds time) { return static_cast<std::int64_t>(time.value * 1e6); };
  writer.Number(static_cast<int>(beat.state)).Number(beat.steps).Text(beat.doing);
  writer.Number(micro(beat.busy)).Text(beat.fault).Number(micro(beat.age));
}

inline Beat ReadBeat(WireReader& reader) {
  const auto seconds = [&] { return Seconds{static_cast<double>(reader.Number()) * 1e-6}; };
  Beat beat;
  beat.state = static_cast<Beat::State>(reader.Number());
  beat.steps = static_cast<long>(reader.Number());
  beat.doing = reader.Text();
  beat.busy = seconds();
  beat.fault = reader.Text();
  beat.age = seconds();
  return beat;
}
}  // namespace shardplan::probe
