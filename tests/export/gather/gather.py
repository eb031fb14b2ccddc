#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records which flags and keys each export target takes: configs/targets/TARGET@VERSION.json.

usage: gather.py DIRECTORY [TARGET@VERSION ...]

DIRECTORY holds the unpacked packages that `sources.txt` beside this file names (pip download
--no-deps, then unzip or tar). Sources are read, not imported; Megatron's parser, half of which is
made at run time, is the one that is built, which takes torch. What is recorded are facts: a key, its
type, its choices, its default. Nothing else of a package is kept.
"""

import ast
import json
import sys
from pathlib import Path

SIMPLE = {"int", "float", "bool", "str"}


def constant(node):
    """The value of a literal; None and False where it is no literal."""
    try:
        return ast.literal_eval(node), True
    except (ValueError, TypeError, SyntaxError, MemoryError):
        return None, False


def record(kind, optional=False, default=None, has_default=False, choices=None):
    entry = {"type": kind}
    if optional:
        entry["optional"] = True
    if choices:
        entry["choices"] = choices
    if has_default and isinstance(default, (int, float, str, bool, list)):
        entry["default"] = default
    return entry


def union(parts):
    """Several types as one: with None it is optional, int and float are float, else anything."""
    optional = any(p == {"type": "none"} for p in parts)
    parts = [p for p in parts if p != {"type": "none"}]
    kinds = {p["type"] for p in parts}
    choices = [c for p in parts for c in p.get("choices", [])]
    if len(kinds) == 1:
        entry = dict(parts[0])
        entry.pop("choices", None)
        if choices and all("choices" in p for p in parts):
            entry["choices"] = choices
    else:
        entry = {"type": "float" if kinds == {"int", "float"} else "any"}
    if optional or any(p.get("optional") for p in parts):
        entry["optional"] = True
    return entry


def kind_of(node):
    """A type annotation as an entry."""
    if node is None:
        return {"type": "any"}
    if isinstance(node, ast.Constant):
        if node.value is None:
            return {"type": "none"}
        if isinstance(node.value, str):
            return kind_of(ast.parse(node.value, mode="eval").body)
    if isinstance(node, ast.Name):
        return {"type": node.id if node.id in SIMPLE else {"dict": "mapping"}.get(node.id, "any")}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return union([kind_of(node.left), kind_of(node.right)])
    if isinstance(node, ast.Subscript):
        base = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if base == "Optional":
            return union([kind_of(inner[0]), {"type": "none"}])
        if base == "Union":
            return union([kind_of(i) for i in inner])
        if base == "Literal":
            values = [constant(i)[0] for i in inner]
            named = [v for v in values if v is not None]
            if named and all(isinstance(v, str) for v in named):
                return record("str", None in values, choices=named)
            return {"type": "any"}
        if base in ("list", "List", "tuple", "Tuple", "Sequence"):
            return {"type": "list"}
        if base in ("dict", "Dict"):
            return {"type": "mapping"}
        if base in ("Annotated", "ClassVar"):
            return kind_of(inner[0])
    return {"type": "any"}


def field_default(node):
    """The default of a field: a literal, field(default=...), Field(x, ...), f(x)."""
    if node is None:
        return None, False
    value, found = constant(node)
    if found:
        return value, True
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg == "default":
                return field_default(keyword.value)
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if node.args and name in ("Field", "pp_int"):
            return field_default(node.args[0])
    return None, False


def alias_of(node):
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg == "alias":
                return constant(keyword.value)[0]
    return None


def classes(path):
    """Classes of a file by dotted name."""
    found = {}

    def walk(body, prefix):
        for node in body:
            if isinstance(node, ast.ClassDef):
                found[prefix + node.name] = node
                walk(node.body, prefix + node.name + ".")

    walk(ast.parse(Path(path).read_text()).body, "")
    return found


def fields(path, name, prefix=""):
    """The annotated fields of one class, bases of the same file included."""
    known = classes(path)
    keys = {}
    for base in known[name].bases:
        if isinstance(base, ast.Name) and base.id in known:
            keys.update(fields(path, base.id, prefix))
    for node in known[name].body:
        if not isinstance(node, ast.AnnAssign) or node.target.id.startswith("_"):
            continue
        entry = kind_of(node.annotation)
        default, has = field_default(node.value)
        if has and default is None:
            entry["optional"] = True
        elif has and isinstance(default, (int, float, str, bool, list)):
            whole = entry["type"] == "int" and isinstance(default, float)
            entry["default"] = int(default) if whole else default
        keys[prefix + (alias_of(node.value) or node.target.id)] = entry
    return keys


def constants(path, prefix="", only=None):
    """Pairs of NAME = "key" and NAME_DEFAULT = value, as DeepSpeed writes its keys."""
    values = {}
    for node in ast.parse(Path(path).read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value, found = constant(node.value)
            if found:
                values[node.targets[0].id] = value
    keys = {}
    for name, key in values.items():
        default = name + "_DEFAULT"
        if not isinstance(key, str) or default not in values or (only and not only(name)):
            continue
        value = values[default]
        kind = {bool: "bool", int: "int", float: "float", str: "str"}.get(type(value), "any")
        keys[prefix + key] = record(kind, value is None, value, value is not None)
    return keys


def flags(path, prefix="", nest=None):
    """add_argument calls of a file: --name becomes prefix + name. `nest` maps a name to its path."""
    keys = {}
    for node in ast.walk(ast.parse(Path(path).read_text())):
        if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument"):
            continue
        names = [a.value for a in node.args if isinstance(a, ast.Constant)]
        options = {k.arg: k.value for k in node.keywords}
        kind = getattr(options.get("type"), "id", "str")
        action = constant(options["action"])[0] if "action" in options else None
        if action in ("store_true", "store_false"):
            kind = "bool"
        if kind not in SIMPLE:
            kind = "bool" if kind == "str2bool" else "any"
        choices, _ = constant(options["choices"]) if "choices" in options else (None, False)
        default, has = constant(options["default"]) if "default" in options else (None, False)
        for name in names:
            name = name.lstrip("-").replace("-", "_")
            key = nest(name) if nest else name
            if key:
                keys[prefix + key] = record(kind, has and default is None, default, has, choices)
    return keys


# ---- one function a target ----


def megatron(root):
    import argparse
    import enum
    import typing

    typing.override = getattr(typing, "override", lambda f: f)  # Python 3.11
    sys.path.insert(0, str(root))
    from megatron.training.arguments import add_megatron_arguments

    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_megatron_arguments(parser)
    keys = {}
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        plain = lambda v: v.name if isinstance(v, enum.Enum) else v
        kind = "flag" if action.nargs == 0 else getattr(action.type, "__name__", "str")
        if kind not in SIMPLE | {"flag"}:
            kind = "any" if action.type else "str"
        entry = {"type": kind}
        if action.nargs not in (None, 0):
            entry = {"type": "list", "of": kind}
        if action.choices:
            entry["choices"] = [str(plain(c)) for c in action.choices]
        default = plain(action.default)
        if isinstance(default, (int, float, str, bool)) and default is not argparse.SUPPRESS:
            entry["default"] = default
        if action.required:
            entry["required"] = True
        for name in action.option_strings:
            keys[name] = entry
    return keys


def bridge(root):
    training = root / "megatron/bridge/training"
    core = root.parent / "megatron_core-0.18.2/megatron/core"
    keys = {}
    transformer = core / "transformer/transformer_config.py"
    for file, name, prefix in [
        (core / "model_parallel_config.py", "ModelParallelConfig", "model."),
        (transformer, "TransformerConfig", "model."),
        (transformer, "MLATransformerConfig", "model."),
        (root / "megatron/bridge/models/gpt_provider.py", "GPTModelProvider", "model."),
        (core / "optimizer/optimizer_config.py", "OptimizerConfig", "optimizer."),
        (core / "distributed/distributed_data_parallel_config.py", "DistributedDataParallelConfig", "ddp."),
        (training / "config.py", "OptimizerConfig", "optimizer."),
        (training / "config.py", "DistributedDataParallelConfig", "ddp."),
        (training / "config.py", "TrainingConfig", "train."),
        (training / "config.py", "GPTDatasetConfig", "dataset."),
        (training / "config.py", "MockGPTDatasetConfig", "dataset."),
        (training / "config.py", "SchedulerConfig", "scheduler."),
        (training / "config.py", "LoggerConfig", "logger."),
        (training / "config.py", "CheckpointConfig", "checkpoint."),
        (training / "config.py", "DistributedInitConfig", "dist."),
        (training / "config.py", "RNGConfig", "rng."),
        (training / "comm_overlap.py", "CommOverlapConfig", "comm_overlap."),
        (training / "mixed_precision.py", "MixedPrecisionConfig", "mixed_precision."),
        (core.parent / "training/config/training_config.py", "TrainingConfig", "train."),
        (core.parent / "training/config/training_config.py", "SchedulerConfig", "scheduler."),
        (core.parent / "training/config/training_config.py", "LoggerConfig", "logger."),
        (core.parent / "training/config/training_config.py", "CheckpointConfig", "checkpoint."),
        (core / "datasets/gpt_dataset.py", "GPTDatasetConfig", "dataset."),
        (core / "datasets/blended_megatron_dataset_config.py", "BlendedMegatronDatasetConfig", "dataset."),
    ]:
        if file.exists() and name in classes(file):
            keys.update(fields(file, name, prefix))
    return keys


def deepspeed(root):
    runtime = root / "deepspeed/runtime"
    top = lambda name: not name.startswith(("BFLOAT16_", "FP16_", "TORCH_AUTOCAST_", "CHECKPOINT_",
                                            "USE_NODE", "LEGACY", "GRAD_ACCUM", "PARAM_DTYPE", "BUFFER_DTYPE"))
    keys = constants(runtime / "constants.py", only=top)
    keys.update(constants(runtime / "activation_checkpointing/config.py", "activation_checkpointing.",
                          only=lambda name: name != "ACT_CHKPT"))
    keys.update(fields(runtime / "zero/config.py", "DeepSpeedZeroConfig", "zero_optimization."))
    # By their values: an enum of 0..3 in the source.
    keys["zero_optimization.stage"] = {"type": "int", "default": 0}
    keys["zero_optimization.mics_shard_size"] = {"type": "int", "default": -1}
    keys["zero_optimization.mics_hierarchical_params_gather"] = {"type": "bool", "default": False}
    for part, name in [("offload_param", "DeepSpeedZeroOffloadParamConfig"),
                       ("offload_optimizer", "DeepSpeedZeroOffloadOptimizerConfig")]:
        prefix = f"zero_optimization.{part}."
        keys.pop(prefix[:-1])
        keys.update(fields(runtime / "zero/offload_config.py", name, prefix))
        keys[prefix + "device"] = record("str", default="none", has_default=True, choices=["none", "cpu", "nvme"])
        keys[prefix + "nvme_path"] = record("str", optional=True)
    keys.update(fields(runtime / "precision_config.py", "DeepSpeedBF16Config", "bf16."))
    keys.update(fields(runtime / "precision_config.py", "DeepSpeedFP16Config", "fp16."))
    keys.update(fields(runtime / "tensor_parallel/config.py", "TPTrainingConfig", "tensor_parallel."))
    keys["tensor_parallel.tp.tp_size"] = keys["tensor_parallel.tp_size"] = {"type": "int", "default": 1}
    # get_expert_parallel_config and DeepSpeedConfig._do_sanity_check read these by name.
    keys["expert_parallel.enabled"] = {"type": "bool", "default": False}
    for name in ("autoep_size", "expert_tensor_parallel_size"):
        keys["expert_parallel." + name] = {"type": "int", "default": 1}
    keys["expert_parallel.preset_model"] = record("str", optional=True)
    keys["sequence_parallel_size"] = {"type": "int", "default": 1}
    keys["data_types.grad_accum_dtype"] = record("str", optional=True, choices=["fp32", "fp16", "bf16"])
    keys["torch_autocast.enabled"] = {"type": "bool", "default": False}
    keys["torch_autocast.dtype"] = record("str", optional=True)
    keys["compile.deepcompile"] = {"type": "bool", "default": False}
    # The optimizer's params are those of its class (DeepSpeedCPUAdam, FusedAdam, torch.optim.AdamW).
    keys["optimizer.type"] = {"type": "str"}
    for name, kind in [("lr", "float"), ("betas", "list"), ("eps", "float"), ("weight_decay", "float"),
                       ("torch_adam", "bool"), ("adam_w_mode", "bool"), ("momentum", "float")]:
        keys["optimizer.params." + name] = {"type": kind}
    keys["scheduler.type"] = {"type": "str"}
    for name, kind in [("warmup_min_lr", "float"), ("warmup_max_lr", "float"), ("warmup_num_steps", "int"),
                       ("total_num_steps", "int")]:
        keys["scheduler.params." + name] = {"type": kind}
    return keys


def nested(path, root_class, skip=()):
    """A tree of dataclasses in one file, as dotted keys."""
    known = classes(path)
    keys = {}

    def walk(name, prefix):
        for key, entry in fields(path, name, prefix).items():
            annotation = next((n.annotation for n in known[name].body if isinstance(n, ast.AnnAssign)
                               and prefix + n.target.id == key), None)
            inner = next((n.id for n in ast.walk(annotation) if isinstance(n, ast.Name) and n.id in known),
                         None) if annotation is not None else None
            if inner and inner not in skip:
                walk(inner, key + ".")
            else:
                keys[key] = entry

    walk(root_class, "")
    return keys


def torchtitan_toml(root):
    return nested(root / "torchtitan/config/job_config.py", "JobConfig")


def torchtitan_python(root):
    keys = {}
    configs = root / "torchtitan/config/configs.py"
    for name in classes(configs):
        keys.update(fields(configs, name, name + "."))
    for file, name in [("trainer.py", "Trainer.Config"), ("components/optimizer.py", "OptimizersContainer.Config"),
                       ("components/metrics.py", "MetricsProcessor.Config"),
                       ("components/lr_scheduler.py", "LRSchedulersContainer.Config"),
                       ("components/optimizer.py", "LRSchedulersContainer.Config"),
                       ("hf_datasets/text_datasets.py", "HuggingFaceTextDataLoader.Config"),
                       ("components/checkpoint.py", "CheckpointManager.Config"),
                       ("distributed/activation_checkpoint.py", "FullAC.Config"),
                       ("distributed/activation_checkpoint.py", "SelectiveAC.Config"),
                       ("distributed/activation_checkpoint.py", "MemoryBudgetAC.Config")]:
        path = root / "torchtitan" / file
        if path.exists() and name in classes(path):
            keys.update(fields(path, name, name + "."))
    return keys


def accelerate(root):
    config = root / "accelerate/commands/config/config_args.py"
    keys = fields(config, "BaseConfig")
    keys.update(fields(config, "ClusterConfig"))
    # Enums in the source; the file holds their words (utils/dataclasses.py, DistributedType).
    keys["compute_environment"] = record("str", choices=["LOCAL_MACHINE", "AMAZON_SAGEMAKER"])
    keys["distributed_type"] = record("str", choices=["NO", "MULTI_CPU", "MULTI_GPU", "DEEPSPEED", "FSDP",
                                                      "MEGATRON_LM", "XLA"])
    keys["mixed_precision"] = record("str", choices=["no", "fp16", "bf16", "fp8"])
    keys["downcast_bf16"] = {"type": "str", "default": "no"}

    def nest(name):
        for part in ("fsdp_config", "parallelism_config", "dynamo_config", "deepspeed_config"):
            own = part.removesuffix("_config") + "_"
            if name.startswith(part if part == "parallelism_config" else own):
                return f"{part}.{name}"
        return None

    keys.update(flags(root / "accelerate/commands/launch.py", nest=nest))
    for key, entry in keys.items():
        # Booleans are written as words on the command line and as booleans in the file.
        if entry.get("default") in ("true", "false"):
            entry.update(type="bool", default=entry["default"] == "true")
    for key in ("fsdp_cpu_ram_efficient_loading", "fsdp_offload_params", "fsdp_sync_module_states",
                "fsdp_use_orig_params", "fsdp_activation_checkpointing", "fsdp_forward_prefetch"):
        if "fsdp_config." + key in keys:
            keys["fsdp_config." + key]["type"] = "bool"
    # A strategy's name under version 1, a boolean under version 2.
    keys["fsdp_config.fsdp_reshard_after_forward"] = {"type": "any"}
    keys["fsdp_config.fsdp_version"] = {"type": "int", "default": 1}
    return keys


def transformers(root):
    keys = fields(root / "transformers/training_args.py", "TrainingArguments")
    # Annotated as a string for the command line; True turns it on (its own help says so).
    keys["fsdp"] = {"type": "any", "optional": True}
    return keys


def nanotron(root):
    keys = {}
    config = root / "nanotron/config"
    for file in ("parallelism_config.py", "config.py", "models_config.py"):
        for name in classes(config / file):
            keys.update(fields(config / file, name, name + "."))
    return keys


def colossalai(root):
    keys = {}
    plugin = root / "colossalai/booster/plugin"
    for file, name in [("hybrid_parallel_plugin.py", "HybridParallelPlugin"), ("gemini_plugin.py", "GeminiPlugin"),
                       ("moe_hybrid_parallel_plugin.py", "MoeHybridParallelPlugin")]:
        node = classes(plugin / file)[name]
        init = next(n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
        arguments = init.args.args[1:] + init.args.kwonlyargs
        defaults = [None] * (len(init.args.args) - 1 - len(init.args.defaults)) + init.args.defaults
        defaults += init.args.kw_defaults
        for argument, value in zip(arguments, defaults):
            entry = kind_of(argument.annotation)
            default, has = field_default(value)
            if has and default is None:
                entry["optional"] = True
            elif has and isinstance(default, (int, float, str, bool)):
                entry["default"] = default
            keys[f"{name}.{argument.arg}"] = entry
    return keys


TARGETS = {
    "megatron@0.18": (megatron, "megatron_core-0.18.2"),
    "megatron@0.19": (megatron, "megatron_core-0.19.2"),
    "megatron-bridge@0.6": (bridge, "megatron_bridge-0.6.2"),
    "deepspeed@0.19": (deepspeed, "deepspeed-0.19.8"),
    "torchtitan@0.2": (torchtitan_toml, "torchtitan-0.2.2"),
    "torchtitan@0.3": (torchtitan_python, "torchtitan-0.3.0"),
    "accelerate@1.15": (accelerate, "accelerate-1.15.0"),
    "transformers@5.17": (transformers, "transformers-5.17.0"),
    "nanotron@0.4": (nanotron, "nanotron-0.4"),
    "colossalai@0.5": (colossalai, "colossalai-0.5.0"),
}


def write(name, source, keys):
    lines = [f"  {json.dumps(k)}: {json.dumps(keys[k])}" for k in sorted(keys)]
    text = f'{{"target": "{name}", "source": "{source}", "keys": {{\n' + ",\n".join(lines) + "\n}}\n"
    path = Path(__file__).resolve().parents[3] / "configs/targets" / f"{name}.json"
    path.write_text(text)
    print(f"{path.name}: {len(keys)} keys")


def main():
    directory = Path(sys.argv[1])
    for name in sys.argv[2:] or TARGETS:
        gather, source = TARGETS[name]
        write(name, source, gather(directory / source))


if __name__ == "__main__":
    main()
