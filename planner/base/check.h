// SPDX-License-Identifier: Apache-2.0
// SHARDPLAN_CHECK: a broken invariant is a bug. It prints the place and aborts, in every build.
#pragma once
#include <cstdio>
#include <cstdlib>

#define SHARDPLAN_CHECK(condition)                                                            \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      std::fprintf(stderr, "%s:%d: bug: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                           \
    }                                                                                         \
  } while (false)
