# shellcheck shell=bash
# Variables that the plan's prediction rests on.
export CUDA_DEVICE_MAX_CONNECTIONS=1  # nanotron asserts it
