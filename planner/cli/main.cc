// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/command.h"

int main(int argc, char** argv) { return shardplan::RunCommandLine(argc, argv); }
