#!/usr/bin/env bash
# What each of the job's 4 nodes runs; its arguments go to the training program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=/dev/null
source ./env.sh

node_rank=${NODE_RANK:?number of this node, 0 to 3}
master_addr=${MASTER_ADDR:?address of node 0}
master_port=${MASTER_PORT:-29400}

arguments=(
  --use-mcore-models
  --num-layers 32
  --hidden-size 4096
  --ffn-hidden-size 14336
  --swiglu
  --disable-bias-linear
  --num-attention-heads 32
  --group-query-attention
  --num-query-groups 8
  --seq-length 8192
  --max-position-embeddings 8192
  --position-embedding-type rope
  --normalization RMSNorm
  --untie-embeddings-and-output-weights
  --attention-dropout 0.0
  --hidden-dropout 0.0
  --tensor-model-parallel-size 4
  --sequence-parallel
  --pipeline-model-parallel-size 2
  --num-virtual-stages-per-pipeline-rank 4
  --context-parallel-size 2
  --cp-comm-type p2p
  --micro-batch-size 1
  --global-batch-size 256
  --recompute-granularity selective
  --recompute-modules core_attn
  --use-distributed-optimizer
  --overlap-grad-reduce
  --overlap-param-gather
  --bf16
  --transformer-impl transformer_engine
  --attention-backend flash
  --optimizer adam
  --train-iters 47683
  --lr 0.0003
  --min-lr 3e-05
  --lr-decay-style cosine
  --lr-warmup-fraction 0.01
  --weight-decay 0.1
  --clip-grad 1.0
  --eval-iters 0
  --log-interval 1
  --log-throughput
  --distributed-backend nccl
)

# Made-up tokens, or DATA_PATH and TOKENIZER_MODEL.
if [[ -n ${DATA_PATH:-} ]]; then
  data=(
    --data-path "$DATA_PATH" --split '100,0,0'
    --tokenizer-type HuggingFaceTokenizer
    --tokenizer-model "${TOKENIZER_MODEL:?tokenizer of the data}"
  )
else
  data=(--mock-data --tokenizer-type NullTokenizer --vocab-size 128256)
fi
# Nothing is saved unless CHECKPOINTS names a directory.
if [[ -n ${CHECKPOINTS:-} ]]; then
  data+=(--save "$CHECKPOINTS" --load "$CHECKPOINTS" --save-interval 500)
fi

exec torchrun --nnodes 4 --nproc-per-node 8 --node-rank "$node_rank" \
  --master-addr "$master_addr" --master-port "$master_port" \
  "${MEGATRON_PATH:-/opt/megatron-lm}/pretrain_gpt.py" "${arguments[@]}" "${data[@]}" "$@"
