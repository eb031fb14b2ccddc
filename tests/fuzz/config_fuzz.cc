// SPDX-License-Identifier: Apache-2.0
// Any text that parses as JSON is a model or a problem, from a spec and from a config.json alike.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "planner/base/check.h"
#include "planner/model/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardplan;
  const nlohmann::json config = nlohmann::json::parse(data, data + size, nullptr, false);
  if (config.is_discarded()) return 0;
  for (bool hand_written : {true, false}) {
    const auto shape = ShapeFromConfig(config, hand_written);
    if (!shape) {
      SHARDPLAN_CHECK(!shape.error().message.empty());
      continue;
    }
    const ParameterCount count = CountParameters(BuildDecoder(*shape));
    SHARDPLAN_CHECK(std::isfinite(count.total) && count.total > 0);
    SHARDPLAN_CHECK(count.active > 0 && count.active <= count.total);
  }
  return 0;
}
