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

# What the CUDA sources are compiled for: machine code, and PTX for all that came after.
set(SHARDPLAN_CUDA_CODE "sm_90a" CACHE STRING "Machine code of the CUDA sources, e.g. sm_80;sm_90a")
set(SHARDPLAN_CUDA_PTX "compute_80" CACHE STRING "PTX of the CUDA sources, for other GPUs")

# Lets the current directory hold .cu sources. A macro: a language is enabled where it is called.
macro(shardplan_enable_cuda)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # one runtime a program: shardplan::cuda's
  set(CMAKE_CUDA_ARCHITECTURES OFF)  # -gencode below says it; CMake 3.25 does not know CUDA 13's
  enable_language(CUDA)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")  # nor that nvcc 13 knows C++20
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA_FLAGS "--expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra")
  set(CMAKE_CUDA_FLAGS_RELEASE "-O3")
  set(CMAKE_CUDA_FLAGS_DEBUG "-O1 -g -lineinfo")
  if(SHARDPLAN_WERROR)
    string(APPEND CMAKE_CUDA_FLAGS " -Werror all-warnings")
  endif()
  foreach(code IN LISTS SHARDPLAN_CUDA_CODE)
    string(REPLACE "sm_" "compute_" virtual ${code})
    string(APPEND CMAKE_CUDA_FLAGS " -gencode=arch=${virtual},code=${code}")
  endforeach()
  foreach(ptx IN LISTS SHARDPLAN_CUDA_PTX)
    string(APPEND CMAKE_CUDA_FLAGS " -gencode=arch=${ptx},code=${ptx}")
  endforeach()
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
  endif()
endmacro()
