#!/bin/bash
# Facts of NVIDIA/Megatron-LM, examples/academic_paper_scripts/sc21/CONFIG.sh and SRUN.sh.
MEGATRON_DATA=
export MEGATRON_PARAMS=" ${MEGATRON_EXTRA_PARAMS} \
	--tensor-model-parallel-size ${TP} \
	--pipeline-model-parallel-size ${PP} \
	--micro-batch-size ${MBS} \
	--global-batch-size ${GBS} \
        --num-layers ${NLS} \
        --hidden-size ${HS} \
        --num-attention-heads ${NAH} \
	--DDP-impl ${DDP} \
	--data-path ${MEGATRON_DATA} \
	--vocab-file gpt2-vocab.json \
        --seq-length 2048 \
        --max-position-embeddings 2048 \
        --train-iters 500 \
        --lr-decay-iters 320 \
        --fp16 \
	--loss-scale 8192 "
srun -l sh -c "python -u pretrain_gpt.py ${MEGATRON_PARAMS}"
