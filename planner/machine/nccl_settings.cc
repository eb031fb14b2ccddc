// SPDX-License-Identifier: Apache-2.0
#include "planner/machine/nccl_settings.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/base/text.h"

namespace shardplan {
namespace {

// In the order of Algorithm, Protocol.
constexpr std::array<std::string_view, kAlgorithms> kAlgorithmNames = {"tree",     "ring", "nvls",
                                                                       "nvlstree", "pat",  "p2p"};
constexpr std::array<std::string_view, kProtocols> kProtocolNames = {"ll", "ll128", "simple"};

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parts;
}

// "ring,tree" or "^nvls" as bits of `names`; names of no bit are passed over.
template <std::size_t kNames>
std::uint8_t Bits(std::string_view list, const std::array<std::string_view, kNames>& names) {
  const bool excludes = list.substr(0, 1) == "^";
  if (excludes) list.remove_prefix(1);
  std::uint8_t bits = 0;
  for (std::string_view item : Split(list, ','))
    for (std::size_t i = 0; i < kNames; ++i)
      if (item == names[i]) bits |= static_cast<std::uint8_t>(1u << i);
  return excludes ? static_cast<std::uint8_t>(~bits) : bits;
}

std::optional<Family> FamilyOf(std::string_view operation) {
  if (operation == "allreduce") return Family::kAllReduce;
  if (operation == "allgather" || operation == "reducescatter") return Family::kGather;
  if (operation == "broadcast" || operation == "reduce") return Family::kRooted;
  return std::nullopt;
}

// NCCL's grammar since 2.24: `ring;allreduce:tree,nvls;allgather:^pat`. Sends and receives have no
// algorithm, so their bits never matter.
template <class Set>
void ForEachFamily(std::string_view text, Set set) {
  for (std::string_view part : Split(text, ';')) {
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      for (int f = 0; f < kFamilies; ++f) set(static_cast<Family>(f), part);
    } else if (const auto family = FamilyOf(part.substr(0, colon))) {
      set(*family, part.substr(colon + 1));
    }
  }
}

class Variables {
 public:
  explicit Variables(const NcclSettings& settings) : values_(settings.variables) {}
  std::optional<std::string> Text(const char* name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return std::nullopt;
    return Lower(found->second);
  }
  template <class Number>
  void Read(const char* name, Number& number) const {
    const auto text = Text(name);
    if (!text) return;
    double value = 0;
    if (std::from_chars(text->data(), text->data() + text->size(), value).ec == std::errc())
      number = static_cast<Number>(value);
  }
  void Read(const char* name, bool& flag) const {
    int value = flag ? 1 : 0;
    Read<int>(name, value);
    flag = value != 0;
  }

 private:
  const std::map<std::string, std::string>& values_;
};

void ReadAlgorithms(const Variables& variables, NcclKnobs& knobs) {
  if (const auto text = variables.Text("NCCL_ALGO"))
    ForEachFamily(*text, [&](Family family, std::string_view list) {
      knobs.allowed[static_cast<int>(family)].algorithms = Bits(list, kAlgorithmNames);
    });
  if (const auto text = variables.Text("NCCL_PROTO")) {
    ForEachFamily(*text, [&](Family family, std::string_view list) {
      knobs.allowed[static_cast<int>(family)].protocols = Bits(list, kProtocolNames);
    });
    knobs.ll128_forced = text->find("ll128") != std::string::npos && text->front() != '^';
  }
}

void ReadChannels(const Variables& variables, NcclKnobs& knobs) {
  int older_max = 64;
  variables.Read("NCCL_MIN_NCHANNELS", knobs.min_channels);
  variables.Read("NCCL_MIN_CTAS", knobs.min_channels);
  variables.Read("NCCL_MAX_NCHANNELS", older_max);
  variables.Read("NCCL_MAX_CTAS", knobs.max_channels);
  knobs.max_channels = std::clamp(std::min(older_max, knobs.max_channels), 1, 64);
  knobs.min_channels = std::clamp(knobs.min_channels, 0, knobs.max_channels);
  variables.Read("NCCL_NVLS_NCHANNELS", knobs.nvls_channels);
  variables.Read("NCCL_MIN_P2P_NCHANNELS", knobs.min_p2p_channels);
  variables.Read("NCCL_MAX_P2P_NCHANNELS", knobs.max_p2p_channels);
  knobs.max_p2p_channels = std::clamp(knobs.max_p2p_channels, 1, 64);
  knobs.min_p2p_channels = std::clamp(knobs.min_p2p_channels, 1, knobs.max_p2p_channels);
  variables.Read("NCCL_NCHANNELS_PER_NET_PEER", knobs.channels_per_net_peer);
}
}  // namespace

NcclKnobs KnobsOf(const NcclSettings& settings) {
  NcclKnobs knobs;
  knobs.nvls = settings.nvls;
  if (settings.variables.empty()) return knobs;
  const Variables variables(settings);
  ReadAlgorithms(variables, knobs);
  ReadChannels(variables, knobs);
  variables.Read("NCCL_NVLS_ENABLE", knobs.nvls);
  variables.Read("NCCL_PAT_ENABLE", knobs.pat);
  variables.Read("NCCL_IB_DISABLE", knobs.sockets);
  variables.Read("NCCL_BUFFSIZE", knobs.buffer.value);
  variables.Read("NCCL_P2P_NET_CHUNKSIZE", knobs.net_chunk.value);
  bool disabled = false, runtime_connect = true, cumem = true;
  variables.Read("NCCL_P2P_DISABLE", disabled);
  variables.Read("NCCL_RUNTIME_CONNECT", runtime_connect);
  variables.Read("NCCL_CUMEM_ENABLE", cumem);
  knobs.peer_to_peer = !disabled;
  knobs.lazy_connect = runtime_connect && cumem;
  if (const auto level = variables.Text("NCCL_NET_GDR_LEVEL"))
    knobs.gpu_direct = *level != "loc" && *level != "0";
  return knobs;
}
}  // namespace shardplan
