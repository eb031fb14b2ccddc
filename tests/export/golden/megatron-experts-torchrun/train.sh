#!/usr/bin/env bash
# What each of the job's 128 nodes runs; its arguments go to the training program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=/dev/null
source ./env.sh

node_rank=${NODE_RANK:?number of this node, 0 to 127}
master_addr=${MASTER_ADDR:?address of node 0}
master_port=${MASTER_PORT:-29400}

arguments=(
  --use-mcore-models
  --num-layers 61
  --hidden-size 7168
  --ffn-hidden-size 18432
  --swiglu
  --disable-bias-linear
  --num-attention-heads 128
  --multi-latent-attention
  --q-lora-rank 1536
  --kv-lora-rank 512
  --qk-head-dim 128
  --qk-pos-emb-head-dim 64
  --v-head-dim 128
  --qk-layernorm
  --seq-length 4096
  --max-position-embeddings 163840
  --position-embedding-type rope
  --normalization RMSNorm
  --untie-embeddings-and-output-weights
  --num-experts 256
  --moe-router-topk 8
  --moe-ffn-hidden-size 2048
  --moe-layer-freq '([0]*3+[1]*58)'
  --moe-shared-expert-intermediate-size 2048
  --moe-router-score-function sigmoid
  --moe-router-enable-expert-bias
  --moe-router-load-balancing-type aux_loss
  --moe-aux-loss-coeff 0.01
  --moe-grouped-gemm
  --moe-permute-fusion
  --mtp-num-layers 1
  --attention-dropout 0.0
  --hidden-dropout 0.0
  --tensor-model-parallel-size 2
  --sequence-parallel
  --pipeline-model-parallel-size 16
  --pipeline-model-parallel-layout 'Et*3|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*2mL'
  --context-parallel-size 1
  --expert-model-parallel-size 32
  --expert-tensor-parallel-size 1
  --moe-token-dispatcher-type flex
  --moe-flex-dispatcher-backend deepep
  --moe-router-dtype fp32
  --micro-batch-size 1
  --global-batch-size 8192
  --recompute-granularity selective
  --recompute-modules moe_act mla_up_proj
  --use-distributed-optimizer
  --overlap-grad-reduce
  --overlap-param-gather
  --bf16
  --transformer-impl transformer_engine
  --attention-backend flash
  --optimizer adam
  --train-iters 1000
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
  data=(--mock-data --tokenizer-type NullTokenizer --vocab-size 129280)
fi
# Nothing is saved unless CHECKPOINTS names a directory.
if [[ -n ${CHECKPOINTS:-} ]]; then
  data+=(--save "$CHECKPOINTS" --load "$CHECKPOINTS" --save-interval 500)
fi

exec torchrun --nnodes 128 --nproc-per-node 8 --node-rank "$node_rank" \
  --master-addr "$master_addr" --master-port "$master_port" \
  "${MEGATRON_PATH:-/opt/megatron-lm}/pretrain_gpt.py" "${arguments[@]}" "${data[@]}" "$@"
