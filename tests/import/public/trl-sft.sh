#!/bin/bash
# How huggingface/trl's trl/scripts/sft.py is started under accelerate, by hand.
accelerate launch --config_file examples/accelerate_configs/trl-fsdp2.yaml trl/scripts/sft.py \
    --model_name_or_path Qwen/Qwen2.5-7B-Instruct --dataset_name trl-lib/Capybara \
    --learning_rate 2.0e-5 --num_train_epochs 1 --packing --max_length 4096 \
    --per_device_train_batch_size 2 --gradient_accumulation_steps 8 --gradient_checkpointing \
    --bf16 --eos_token '<|im_end|>' --eval_strategy steps --output_dir out --push_to_hub
