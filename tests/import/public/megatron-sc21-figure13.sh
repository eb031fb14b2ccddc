#!/bin/bash
# Facts of NVIDIA/Megatron-LM, examples/academic_paper_scripts/sc21/run_figure_13.sh, reduced by
# hand; it takes the rest from CONFIG.sh.
PP=8
GBS=32
TP=$((64/PP))
MBS=1
NLS=32
HS=20480
NAH=128
DDP=local
MEGATRON_EXTRA_PARAMS="--activations-checkpoint-method uniform "
NNODES=8
. `pwd`/megatron-sc21-config.sh
exit 0
