# SPDX-License-Identifier: Apache-2.0
# Defines shardplan::cudnn where cuDNN 9 and its frontend's headers are to be had. The headers come
# from PyPI's nvidia-cudnn-frontend: `deploy/bootstrap gpu-tools` puts them where this looks first.

find_path(SHARDPLAN_CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(SHARDPLAN_CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR})
find_path(SHARDPLAN_CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h
          HINTS ${PROJECT_SOURCE_DIR}/build/cudnn-frontend/include)
mark_as_advanced(SHARDPLAN_CUDNN_INCLUDE_DIR SHARDPLAN_CUDNN_LIBRARY
                 SHARDPLAN_CUDNN_FRONTEND_INCLUDE_DIR)
if(NOT SHARDPLAN_CUDNN_INCLUDE_DIR OR NOT SHARDPLAN_CUDNN_LIBRARY)
  message(STATUS "Attention on GPUs: left out (missing: cuDNN)")
  return()
endif()
if(NOT SHARDPLAN_CUDNN_FRONTEND_INCLUDE_DIR)
  message(STATUS "Attention on GPUs: left out (missing: cuDNN's frontend; deploy/bootstrap gpu-tools)")
  return()
endif()

add_library(shardplan::cudnn UNKNOWN IMPORTED)
set_target_properties(shardplan::cudnn PROPERTIES
  IMPORTED_LOCATION ${SHARDPLAN_CUDNN_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES
    "${SHARDPLAN_CUDNN_INCLUDE_DIR};${SHARDPLAN_CUDNN_FRONTEND_INCLUDE_DIR}"
  INTERFACE_LINK_LIBRARIES "shardplan::cuda;CUDA::nvrtc;${CMAKE_DL_LIBS}")
