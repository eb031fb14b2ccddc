#!/bin/bash
# Facts of NVIDIA/Megatron-LM, examples/mixtral/train_mixtral_8x7b_distributed.sh, reduced by hand.
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=${SLURM_NNODES:-"4"}
NODE_RANK=${RANK:-"0"}
TOKENIZER_MODEL=$2
MODEL=(
    --use-mcore-models --disable-bias-linear
    --seq-length 4096 --max-position-embeddings 32768
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
    --init-method-std 0.01 --attention-dropout 0.0 --hidden-dropout 0.0
    --normalization RMSNorm --position-embedding-type rope --swiglu
    --untie-embeddings-and-output-weights --group-query-attention --num-query-groups 8
    --no-masked-softmax-fusion --no-position-embedding --rotary-base 1000000
)
EXPERTS=(
    --num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss
    --moe-aux-loss-coeff 1e-2
    # --moe-permute-fusion
    --moe-grouped-gemm --moe-token-dispatcher-type alltoall
    --overlap-param-gather --overlap-grad-reduce
)
RECORDS=(--log-interval 1 --no-load-optim --no-load-rng)
if [ -n "${WANDB_API_KEY}" ]; then
    RECORDS+=(--wandb-project ${WANDB_PROJECT:-"Mixtral"})
fi
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NNODES --node_rank $NODE_RANK pretrain_gpt.py \
    ${MODEL[@]} ${EXPERTS[@]} \
    --tokenizer-type Llama2Tokenizer --tokenizer-model ${TOKENIZER_MODEL} --data-path $3 \
    --micro-batch-size 1 --global-batch-size 256 --lr 1e-4 --train-iters 500000 --bf16 \
    --tensor-model-parallel-size 1 --pipeline-model-parallel-size 4 --expert-model-parallel-size 8 \
    --use-distributed-optimizer --sequence-parallel \
    ${RECORDS[@]}
