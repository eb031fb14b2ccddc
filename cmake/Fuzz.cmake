# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/NAME_fuzz.cc as program NAME_fuzz; ctest runs each for SHARDPLAN_FUZZ_SECONDS from the
# seeds in tests/fuzz/corpus/NAME, and keeps what it finds in the build tree.

set(SHARDPLAN_FUZZ_SECONDS 60 CACHE STRING "How long ctest runs each fuzzer")

file(GLOB fuzzers CONFIGURE_DEPENDS fuzz/*_fuzz.cc)
foreach(source IN LISTS fuzzers)
  cmake_path(GET source STEM program)
  string(REGEX REPLACE "_fuzz$" "" name ${program})
  add_executable(${program} ${source})
  target_compile_definitions(${program} PRIVATE SHARDPLAN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_options(${program} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${program} PRIVATE shardplan_cli)

  set(found ${CMAKE_CURRENT_BINARY_DIR}/corpus/${name})
  set(seeds ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${name})
  file(MAKE_DIRECTORY ${found})
  if(NOT EXISTS ${seeds})
    set(seeds)
  endif()
  # The leak checker can hang in a sandbox that forbids ptrace, past every limit but a kill.
  math(EXPR limit "${SHARDPLAN_FUZZ_SECONDS} + 60")
  add_test(NAME fuzz.${name}
           COMMAND timeout -k 10 ${limit} $<TARGET_FILE:${program}> -detect_leaks=0
                   -max_total_time=${SHARDPLAN_FUZZ_SECONDS} -timeout=10 -print_final_stats=1
                   ${found} ${seeds})
endforeach()
