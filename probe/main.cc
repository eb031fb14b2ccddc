// SPDX-License-Identifier: Apache-2.0
#include "probe/command.h"

int main(int argc, char** argv) { return shardplan::probe::RunCommandLine(argc, argv); }
