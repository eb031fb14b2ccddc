// SPDX-License-Identifier: Apache-2.0
// Names that users write for models and GPUs, as entries of the catalogue.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

// "meta-llama/Llama-2-7b-hf" and "/models/Llama-2-7B" are the preset llama-2-7b.
std::optional<std::string> ModelPresetOf(std::string_view name);
// vocab_size of a preset.
std::optional<int> VocabularyOf(const std::string& preset);

// Entries of configs/gpus that a short name may mean ("a100", "h100-80gb", "NVIDIA
// A100-SXM4-80GB"). `memory` in bytes, 0: not known.
std::vector<std::string> GpuEntriesOf(std::string_view name, double memory = 0);
}  // namespace shardplan
