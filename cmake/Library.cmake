# SPDX-License-Identifier: Apache-2.0

# shardplan_library(NAME DIRECTORY LIBRARY...)
# Every source of DIRECTORY (from the root; main.cc belongs to a program, *_test.cc to a test) as
# library NAME, which brings the LIBRARYs along. A directory of headers alone makes an interface library.
function(shardplan_library name directory)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${directory}/*.cc)
  list(FILTER sources EXCLUDE REGEX "(/main|_test)\\.cc$")
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ${ARGN})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${ARGN})
  endif()
endfunction()

# shardplan_layer(NAME LIBRARY... [ABOVE LAYER...])
# Directory planner/NAME as library shardplan_NAME. It may include itself and the layers it is ABOVE,
# with all that lies below them; the test includes.NAME holds it to that.
function(shardplan_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" ABOVE)
  set(reach ${name})
  set(libraries ${arg_UNPARSED_ARGUMENTS})
  foreach(layer IN LISTS arg_ABOVE)
    list(APPEND libraries shardplan_${layer})
    get_property(reach_of_layer GLOBAL PROPERTY shardplan_reach_${layer})
    list(APPEND reach ${reach_of_layer})
  endforeach()
  list(REMOVE_DUPLICATES reach)
  set_property(GLOBAL PROPERTY shardplan_reach_${name} ${reach})

  shardplan_library(shardplan_${name} planner/${name} ${libraries})
  list(JOIN reach "|" reach)
  add_test(NAME includes.${name}
           COMMAND ${CMAKE_COMMAND} -D directory=${PROJECT_SOURCE_DIR}/planner/${name}
                   -D "reach=${reach}" -P ${PROJECT_SOURCE_DIR}/cmake/CheckIncludes.cmake)
endfunction()
