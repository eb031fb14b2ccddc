# SPDX-License-Identifier: Apache-2.0
# cmake -D directory=DIR -D reach=base|model|... -P CheckIncludes.cmake
# Fails when a file of DIR includes a planner/ directory that is not within reach.

file(GLOB_RECURSE files ${directory}/*.h ${directory}/*.cc ${directory}/*.cu)
foreach(file IN LISTS files)
  file(STRINGS ${file} includes REGEX "^#include \"planner/")
  list(FILTER includes EXCLUDE REGEX "^#include \"planner/(${reach})/")
  foreach(include IN LISTS includes)
    string(REPLACE "|" " " within ${reach})
    message(SEND_ERROR " ${file}: ${include} points the wrong way; within reach: ${within}")
  endforeach()
endforeach()
