# SPDX-License-Identifier: Apache-2.0
# Looks for what GPU programs need and says what it found. Defines, when CUDA is there:
#   shardplan::cuda   the CUDA runtime
#   shardplan::nccl   NCCL
# A target that needs them guards itself with if(TARGET shardplan::nccl) and enables the CUDA
# language itself, so that a build without such targets does not wait for nvcc.

set_property(CACHE SHARDPLAN_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT SHARDPLAN_CUDA)
  message(STATUS "GPU programs: left out (SHARDPLAN_CUDA=OFF)")
  return()
endif()

find_package(CUDAToolkit QUIET)
find_path(SHARDPLAN_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(SHARDPLAN_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${CUDAToolkit_LIBRARY_DIR})
mark_as_advanced(SHARDPLAN_NCCL_INCLUDE_DIR SHARDPLAN_NCCL_LIBRARY)

set(missing)
if(NOT TARGET CUDA::cudart OR NOT CUDAToolkit_NVCC_EXECUTABLE)
  list(APPEND missing "the CUDA toolkit")
endif()
if(NOT SHARDPLAN_NCCL_INCLUDE_DIR OR NOT SHARDPLAN_NCCL_LIBRARY)
  list(APPEND missing "NCCL")
endif()
if(missing)
  list(JOIN missing " and " missing)
  if(NOT SHARDPLAN_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "SHARDPLAN_CUDA=${SHARDPLAN_CUDA}, but ${missing} cannot be found; "
                        "name it with -DCUDAToolkit_ROOT=DIR or -DCMAKE_PREFIX_PATH=DIR")
  endif()
  message(STATUS "GPU programs: left out (missing: ${missing})")
  return()
endif()

add_library(shardplan::cuda INTERFACE IMPORTED)
target_link_libraries(shardplan::cuda INTERFACE CUDA::cudart)
add_library(shardplan::nccl UNKNOWN IMPORTED)
set_target_properties(shardplan::nccl PROPERTIES
  IMPORTED_LOCATION ${SHARDPLAN_NCCL_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${SHARDPLAN_NCCL_INCLUDE_DIR}
  INTERFACE_LINK_LIBRARIES shardplan::cuda)
message(STATUS "GPU programs: CUDA ${CUDAToolkit_VERSION}, NCCL in ${SHARDPLAN_NCCL_LIBRARY}")
