# SPDX-License-Identifier: Apache-2.0
# How every C++ source of ours is compiled: standard, optimization, warnings, sanitizers, ccache.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g -D_GLIBCXX_ASSERTIONS")

# nvcc, which compiles the CUDA sources, knows none of these.
function(shardplan_cxx_options)
  foreach(option IN LISTS ARGN)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:${option}>)
  endforeach()
endfunction()

# The same plan costs the same to the bit wherever it is evaluated, also where the processor could
# fuse a multiplication and an addition in one place and not in the other.
shardplan_cxx_options(-ffp-contract=off)

shardplan_cxx_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wcast-align -Wcast-qual -Wextra-semi -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual -Wundef
  -Wno-missing-field-initializers)  # designated initializers leave fields at their defaults
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  shardplan_cxx_options(-Wduplicated-cond -Wlogical-op)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    shardplan_cxx_options(-Wno-restrict)  # GCC bug 105329: false alarms on "literal" + std::string
  endif()
endif()
if(SHARDPLAN_WERROR)
  shardplan_cxx_options(-Werror)
endif()

if(SHARDPLAN_SANITIZE)
  shardplan_cxx_options(-fsanitize=${SHARDPLAN_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SHARDPLAN_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    shardplan_cxx_options(-Wno-maybe-uninitialized)  # false alarms in instrumented code
  endif()
endif()
if(SHARDPLAN_FUZZ)
  shardplan_cxx_options(-fsanitize=fuzzer-no-link)
endif()

# Paths relative to the source tree let all clones of it share one cache.
find_program(SHARDPLAN_CCACHE ccache)
if(SHARDPLAN_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${SHARDPLAN_CCACHE})
endif()
