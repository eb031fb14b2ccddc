// SPDX-License-Identifier: Apache-2.0
// The C++ type of a number format: host and device share all but their small floats.
#pragma once
#include <cstdint>

#include "probe/dtype.h"

namespace shardplan::probe {

// Calls f with a null pointer to the type that holds `dtype`; `Small` has the types Half, Brain and
// Eight.
template <class Small, class F>
auto WithType(Dtype dtype, F f) {
  switch (dtype) {
    case Dtype::kFp64:
      return f(static_cast<double*>(nullptr));
    case Dtype::kFp32:
    case Dtype::kTf32:
      return f(static_cast<float*>(nullptr));
    case Dtype::kFp16:
      return f(static_cast<typename Small::Half*>(nullptr));
    case Dtype::kBf16:
      return f(static_cast<typename Small::Brain*>(nullptr));
    case Dtype::kFp8:
      return f(static_cast<typename Small::Eight*>(nullptr));
    case Dtype::kInt8:
      return f(static_cast<std::int8_t*>(nullptr));
    case Dtype::kUint8:
      return f(static_cast<std::uint8_t*>(nullptr));
    case Dtype::kInt32:
      return f(static_cast<std::int32_t*>(nullptr));
    case Dtype::kInt64:
      break;
  }
  return f(static_cast<std::int64_t*>(nullptr));
}
}  // namespace shardplan::probe
