// SPDX-License-Identifier: Apache-2.0
// Operating errors: Result<T> carries a value or one Error that a user can act on.
//
// Not for plans that do not fit or break a rule (those are data with reasons), nor for bugs
// (CHECK). Codes carry gRPC's numbers, so that a service can return them unchanged.
#pragma once
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace shardplan {

enum class Code {
  kCancelled = 1,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kInternal = 13,
  kUnavailable = 14
};

struct Error {
  Code code = Code::kInvalidArgument;
  std::string message;  // where, what, what was expected, what to do; may span lines
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> Invalid(std::string message) {
  return tl::unexpected<Error>(Error{Code::kInvalidArgument, std::move(message)});
}
inline tl::unexpected<Error> NotFound(std::string message) {
  return tl::unexpected<Error>(Error{Code::kNotFound, std::move(message)});
}
}  // namespace shardplan
