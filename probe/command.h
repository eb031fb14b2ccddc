// SPDX-License-Identifier: Apache-2.0
// The command line of shardplan-probe: one rank, one device, one probe.
//
// Exit codes: 0 done, 1 failed (wrong results included), 2 bad usage, 130 interrupted.
#pragma once

namespace shardplan::probe {
int RunCommandLine(int argc, const char* const* argv);
}  // namespace shardplan::probe
