#!/bin/bash
# Facts of NVIDIA/Megatron-LM, examples/gpt3/train_gpt3_175b_distributed.sh, reduced by hand.
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NUM_NODES=16
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
CHECKPOINTS=$1
TEXT=$2

LAUNCH=(--nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES --master_addr localhost)
MODEL=(
    --num-layers 96
    --hidden-size 12288
    --num-attention-heads 96
    --seq-length 2048
    --max-position-embeddings 2048
    --attention-backend auto # flash, fused, unfused or local
)
COURSE=(
    --micro-batch-size 1
    --global-batch-size 1536
    --rampup-batch-size 16 16 5859375
    --train-iters 500000
    --adam-beta1 0.9
    --init-method-std 0.006
    --clip-grad 1.0
    --fp16
    --lr 6.0e-5
    --lr-warmup-fraction .001
)
torchrun ${LAUNCH[@]} pretrain_gpt.py \
    ${MODEL[@]} ${COURSE[@]} \
    --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 \
    --data-path $TEXT --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt --split 949,50,1 \
    --save-interval 10000 --save $CHECKPOINTS --load $CHECKPOINTS --eval-iters 10
