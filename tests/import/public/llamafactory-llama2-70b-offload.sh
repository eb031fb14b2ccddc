#!/bin/bash
# How hiyouga/LLaMA-Factory is started with examples/deepspeed/ds_z3_offload_config.json, by hand.
deepspeed --num_gpus 8 --master_port=9901 src/train.py \
    --deepspeed llamafactory-ds-z3-offload.json \
    --stage sft --do_train --model_name_or_path meta-llama/Llama-2-70b-hf \
    --dataset alpaca_gpt4_en --template default --finetuning_type full \
    --output_dir saves --cutoff_len 1024 --per_device_train_batch_size 4 \
    --gradient_accumulation_steps 4 --gradient_checkpointing True \
    --lr_scheduler_type cosine --logging_steps 10 --save_steps 1000 \
    --learning_rate 5e-5 --num_train_epochs 3.0 --plot_loss --bf16
