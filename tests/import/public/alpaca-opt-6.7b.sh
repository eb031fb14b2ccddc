# Facts of tatsu-lab/stanford_alpaca, README.md: OPT-6.7B on four GPUs with FSDP, by hand.
torchrun --nproc_per_node=4 --master_port=29500 train.py \
    --model_name_or_path "facebook/opt-6.7b" \
    --data_path ./alpaca_data.json \
    --bf16 True \
    --output_dir out \
    --num_train_epochs 3 \
    --per_device_train_batch_size 4 \
    --gradient_accumulation_steps 8 \
    --model_max_length 512 \
    --save_strategy "steps" \
    --learning_rate 2e-5 \
    --fsdp "full_shard auto_wrap" \
    --fsdp_transformer_layer_cls_to_wrap 'OPTDecoderLayer' \
    --tf32 True
