# shellcheck shell=bash
# Variables that the plan's prediction rests on.
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True  # the memory predicted is that of expandable segments
