# SPDX-License-Identifier: Apache-2.0
# Writes planner/base/build_config.h: what the code must know about this build.

file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/planner/base/build_config.h @ONLY CONTENT [[
// SPDX-License-Identifier: Apache-2.0
// Written by CMake: the version, and where the data of configs/ lies.
#pragma once

namespace shardplan {
inline constexpr char kVersion[] = "@PROJECT_VERSION@";
inline constexpr char kSourceConfigDir[] = "@PROJECT_SOURCE_DIR@/configs";
inline constexpr char kInstallConfigDir[] = "@CMAKE_INSTALL_FULL_DATADIR@/shardplan/configs";
}  // namespace shardplan
]])
