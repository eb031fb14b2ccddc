# shellcheck shell=bash
# Variables that the plan's prediction rests on.
