"""Larger models to start from: a short list, with what each costs to fetch, to keep and to train.

Only weights that Codecoil can read (Mamba-1, Hugging Face format, safetensors) and whose licence lets everybody use
them.  Nothing here connects: sizes and memory are known beforehand, so that the user can agree to them first.
"""

from __future__ import annotations

from dataclasses import dataclass

GIB = 2**30
MODES = ("wsla", "lora", "vocabulary", "full")
# What `memory` was estimated for, by engine.estimate_training on the CPU device; a test holds the two together.
BATCH, LENGTH, VOCABULARY_TOKENS = 1, 256, 8000


@dataclass(frozen=True)
class BaseModel:
    """One entry of the list."""

    name: str  # what the user calls it, and what it is called in the store
    repository: str  # on the hub
    hidden_size: int
    layers: int
    parameters: int
    licence: str
    words: str
    memory: tuple[float, float, float, float]  # GiB to train it, in the order of MODES
    vocab_size: int = 50280

    @property
    def nbytes(self) -> int:
        """What is fetched, nearly: weights in float32; configuration and tokenizer are 3 MB more."""
        return 4 * self.parameters

    @property
    def memory_by_mode(self) -> dict[str, int]:
        """Bytes that training holds on the device, by mode."""
        return {mode: round(gib * GIB) for mode, gib in zip(MODES, self.memory, strict=True)}


BASE_MODELS = (
    BaseModel(
        name="mamba-130m",
        repository="state-spaces/mamba-130m-hf",
        hidden_size=768,
        layers=24,
        parameters=129_135_360,
        licence="Apache-2.0",
        words="Fits most laptops in every mode. Trained on text and code in many languages.",
        memory=(0.72, 0.74, 0.81, 2.16),
    ),
    BaseModel(
        name="mamba-370m",
        repository="state-spaces/mamba-370m-hf",
        hidden_size=1024,
        layers=48,
        parameters=371_516_416,
        licence="Apache-2.0",
        words="The same training, three times the size: slower, and full training takes more than 6 GiB.",
        memory=(1.99, 2.05, 2.14, 6.15),
    ),
    BaseModel(
        name="mamba-790m",
        repository="state-spaces/mamba-790m-hf",
        hidden_size=1536,
        layers=48,
        parameters=793_204_224,
        licence="Apache-2.0",
        words="For a graphics card with at least 6 GB; on a processor it is slow.",
        memory=(3.86, 3.94, 4.08, 12.74),
    ),
)


def base_model(name: str) -> BaseModel:
    """The entry of that name, or of that repository."""
    for model in BASE_MODELS:
        if name in (model.name, model.repository):
            return model
    from engine.errors import ConfigError

    names = ", ".join(model.name for model in BASE_MODELS)
    raise ConfigError(f"There is no base model {name!r} in the list.", f"Choose one of: {names}.")
