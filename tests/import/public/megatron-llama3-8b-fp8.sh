#!/bin/bash
# Facts of NVIDIA/Megatron-LM, examples/llama/train_llama3_8b_h100_fp8.sh, reduced by hand.
CHECKPOINTS=${1:-"checkpoints/llama3_8b_fp8"}
TOKENIZER=${3:-"MOCK"}
GPUS=8
NODE_RANK=${NODE_RANK:-0}
TP_SIZE=1
DTYPE="fp8"
MODEL=(
    --use-mcore-models --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336
    --num-attention-heads 32 --group-query-attention --num-query-groups 8 --kv-channels 128
    --seq-length 8192 --max-position-embeddings 8192 --position-embedding-type rope
    --rotary-base 1000000 --attention-dropout 0.0 --hidden-dropout 0.0 --swiglu
    --attention-backend fused --apply-layernorm-1p --untie-embeddings-and-output-weights
    --disable-bias-linear
)
COURSE=(
    --micro-batch-size 1 --global-batch-size 128 --train-samples 1953125000
    --decoupled-lr 5.0e-4 --bf16 --grad-reduce-in-bf16 --cross-entropy-loss-fusion
    --calculate-per-token-loss --manual-gc --empty-unused-memory-level 1
)
WIDTH=()
if [[ "$DTYPE" == "fp8" ]]; then
    WIDTH+=("--fp8-format hybrid" "--fp8-amax-history-len 1024" "--fp8-param-gather")
fi
DDP=(--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather)
COURSE+=("${DDP[@]}")
if [[ "$TOKENIZER" == "MOCK" ]] || [[ -z "$TOKENIZER" ]]; then
    TEXT=("--mock-data" "--tokenizer-type NullTokenizer" "--vocab-size 128256" "--split '99,1,0'")
else
    TEXT=("--tokenizer-type HuggingFaceTokenizer" "--tokenizer-model $TOKENIZER")
fi
if [ ! -f "pretrain_gpt.py" ]; then
    echo "not in the root of Megatron-LM"
    exit 1
fi
torchrun --nproc_per_node $GPUS --nnodes 1 --node_rank $NODE_RANK "pretrain_gpt.py" \
    ${MODEL[@]} ${COURSE[@]} ${WIDTH[@]} \
    --tensor-model-parallel-size $TP_SIZE --context-parallel-size 1 --sequence-parallel \
    ${TEXT[@]} --save "$CHECKPOINTS" --ckpt-format torch_dist --log-throughput --profile
