#!/bin/bash
# Facts of DeepSeek-V3's recipe in NVIDIA/Megatron-LM (argument names of megatron/training/
# arguments.py) with the layout of NVIDIA-NeMo/Megatron-Bridge, by hand.
#SBATCH --nodes=128
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
PR=${PR:-bf16}
case $PR in
  bf16) WIDTH="--bf16" ;;
  fp16) WIDTH="--fp16" ;;
  *) echo "unknown $PR"; exit 1 ;;
esac
srun --container-image=megatron.sqsh python -u pretrain_gpt.py \
    --use-mcore-models --num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 \
    --num-attention-heads 128 --kv-channels 128 --seq-length 4096 --max-position-embeddings 4096 \
    --multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 \
    --qk-pos-emb-head-dim 64 --v-head-dim 128 --qk-layernorm \
    --normalization RMSNorm --norm-epsilon 1e-6 --swiglu --disable-bias-linear \
    --untie-embeddings-and-output-weights --position-embedding-type rope --no-rope-fusion \
    --vocab-size 129280 --tokenizer-type NullTokenizer \
    --attention-dropout 0.0 --hidden-dropout 0.0 \
    --num-experts 256 --moe-router-topk 8 --moe-ffn-hidden-size 2048 \
    --moe-shared-expert-intermediate-size 2048 --moe-layer-freq "([0]*3+[1]*58)" \
    --moe-router-score-function sigmoid --moe-router-num-groups 8 --moe-router-group-topk 4 \
    --moe-grouped-gemm --moe-token-dispatcher-type flex --moe-enable-deepep \
    --mtp-num-layers 1 --mtp-loss-scaling-factor 0.1 \
    --micro-batch-size 1 --global-batch-size 8192 --train-iters 1000 --lr 3.9e-6 $WIDTH \
    --tensor-model-parallel-size 2 --sequence-parallel --pipeline-model-parallel-size 16 \
    --pipeline-model-parallel-layout "Et|(tt|)*30mL" \
    --expert-model-parallel-size 64 --expert-tensor-parallel-size 1 --use-distributed-optimizer \
    --overlap-grad-reduce --overlap-param-gather \
    --recompute-granularity selective --recompute-modules mla_up_proj layernorm mlp
