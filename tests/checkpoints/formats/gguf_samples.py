"""Small models as GGUF files, one of each architecture, and copies of such files that differ in one thing."""

from __future__ import annotations

import json

import gguf
import numpy as np
import pytest

from engine.checkpoints.formats.gguf_export import write_gguf
from engine.checkpoints.formats.gguf_vocabulary import SPLITTING
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.model.architectures.reading import config_from
from engine.model.initialise import initial_parameters

SIZES = {
    "vocab_size": 300, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 64,
}  # fmt: skip
MULTIPLIERS = {
    "embedding_multiplier": 3.0, "attention_multiplier": 0.125, "residual_multiplier": 0.25, "logits_scaling": 2.0,
}  # fmt: skip
MODELS = {
    "llama": {"tie_word_embeddings": True, "rope_theta": 1e5},
    "llama with biases": {"model_type": "llama", "head_dim": 12, "rope_scaling": {"type": "linear", "factor": 2.0}},
    "qwen2": {"tie_word_embeddings": True},
    "qwen3": {"head_dim": 16},
    "granite": {"tie_word_embeddings": True, **MULTIPLIERS},
    "granitemoehybrid with experts": {
        "num_local_experts": 5, "num_experts_per_tok": 2, "intermediate_size": 32, "shared_intermediate_size": 96,
        "layer_types": ["attention"] * 2, "position_embedding_type": "rope", **MULTIPLIERS,
    },
    "mamba": {"model_type": "mamba", "vocab_size": 300, "hidden_size": 32, "num_hidden_layers": 2},
    "mamba2": {
        "model_type": "mamba2", "vocab_size": 300, "hidden_size": 32, "num_hidden_layers": 2, "num_heads": 4,
        "head_dim": 16, "state_size": 24, "n_groups": 2, "tie_word_embeddings": True,
    },
    "granitemoehybrid": {
        "shared_intermediate_size": 48, "num_hidden_layers": 3, "layer_types": ["mamba", "attention", "mamba"],
        "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 24, "tie_word_embeddings": True,
        "num_local_experts": 0, **MULTIPLIERS,
    },
    "granitemoehybrid with mixers and experts": {
        "num_local_experts": 3, "num_experts_per_tok": 2, "intermediate_size": 32, "shared_intermediate_size": 48,
        "layer_types": ["attention", "mamba"], "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 24,
        **MULTIPLIERS,
    },
    "granitemoehybrid with positions": {
        "shared_intermediate_size": 48, "layer_types": ["attention", "mamba"], "mamba_n_heads": 8, "mamba_d_head": 8,
        "mamba_d_state": 16, "mamba_n_groups": 2, "num_local_experts": 0, "position_embedding_type": "rope",
        **MULTIPLIERS,
    },
    "falcon_h1": {
        "head_dim": 8, "mamba_d_ssm": 48, "mamba_n_heads": 3, "mamba_d_head": 16, "mamba_d_state": 24,
        "rope_theta": 1e11,
    },
    "falcon_h1 with norm": {
        "mamba_d_ssm": 64, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 24, "mamba_n_groups": 2,
        "mamba_rms_norm": True, "mamba_norm_before_gate": False,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer_path(tmp_path_factory):
    text = "def add(a, b):\n    return a + b\n\n\nclass Thing:\n    pass\n"
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    Tokenizer.train([text], vocab_size=290).save(path)
    description = json.loads(path.read_text())  # with a rule of splitting that llama.cpp has a name for
    description["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": SPLITTING["qwen2"]}
    path.write_text(json.dumps(description))
    return path


def model(name: str):
    keys = {"model_type": name.split()[0], **SIZES, **MODELS[name]}
    if keys["model_type"] in ("mamba", "mamba2"):
        keys = MODELS[name]
    config = config_from(keys)
    return config, dict(initial_parameters(config, seed=3))


def written(tmp_path, tokenizer_path, name="llama", precision="f32"):
    config, parameters = model(name)
    path = tmp_path / f"{name}.gguf"
    write_gguf(path, config, parameters, tokenizer_path, precision)
    return path, config, parameters


def rewritten(source, target, kind_of=lambda name, array: None, leave=(), keys=None, more=None):
    """A copy of a GGUF file with other types, without some tensors, with other keys or with more tensors."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, "unused")
    writer.kv_data[0].clear()
    for name, field in reader.fields.items():
        if not name.startswith("GGUF."):
            value, kind = (keys or {}).get(name, field.contents()), field.types[0]
            sub = field.types[-1] if len(field.types) > 1 else None
            if isinstance(value, list) and not isinstance(value[0], str):
                kind, sub = gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.get_type(value[0])
            writer.add_key_value(name, value, kind, sub_type=sub)
    for tensor in reader.tensors:
        if tensor.name not in leave:
            kind, array = kind_of(tensor.name, tensor.data), np.array(tensor.data)
            data = array if kind is None else gguf.quants.quantize(array, kind)
            writer.add_tensor(tensor.name, data, raw_dtype=kind)
    for name, array in (more or {}).items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target
