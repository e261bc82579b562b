"""Tiny models and stores to test with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import numpy as np

import engine
from engine.checkpoints.store.delta import Delta, make_delta
from engine.checkpoints.store.manifest import Facts, Manifest
from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.model.config import ModelConfig
from engine.model.model import Model

TINY = ModelConfig(hidden_size=16, num_hidden_layers=2, vocab_size=320, state_size=4)
HISTORY = [{"step": step, "loss": 3.0 / (step + 1)} for step in range(5)]


@contextmanager
def tiny_model(seed: int = 0, config: ModelConfig = TINY) -> Iterator[Model]:
    model = engine.create_model(config, seed=seed, device=engine.open_device("cpu"))
    try:
        yield model
    finally:
        model.close()


@lru_cache
def parameters(seed: int = 0) -> dict[str, np.ndarray]:
    """The parameters of a tiny model; not to be changed."""
    with tiny_model(seed) as model:
        return dict(model.parameters)


@lru_cache
def tokenizer(vocab_size: int = 300) -> bytes:
    """The content of a tokenizer.json."""
    import json

    texts = [f"def f_{i}(x):\n    return x + {i}\n" for i in range(200)]
    return json.dumps(Tokenizer.train(texts, vocab_size)._description, ensure_ascii=False).encode()


def wsla_change(seed: int = 1) -> dict[str, np.ndarray]:
    """The tiny model's parameters after something that WSLA could have done."""
    changed = {name: array.copy() for name, array in parameters().items()}
    generator = np.random.default_rng(seed)
    for name, array in changed.items():
        if name.endswith("x_proj.weight"):
            array[TINY.time_step_rank :] += generator.standard_normal(array[TINY.time_step_rank :].shape, np.float32)
    return changed


def wsla_delta(seed: int = 1) -> Delta:
    return make_delta("wsla", TINY, wsla_change(seed))


def save_base(store: CheckpointStore, name: str = "base", seed: int = 0, **more) -> Manifest:
    return store.save(Facts(name, "base", **more), config=TINY, parameters=parameters(seed), tokenizer=tokenizer())


def save_wsla(store: CheckpointStore, name: str = "adapted", base: str = "base", seed: int = 1, **more) -> Manifest:
    facts = Facts(name, "wsla", **{"run": "run 1", "step": 10, **more})
    return store.save_delta(facts, base=base, delta=wsla_delta(seed), history=HISTORY)


def same(first, second) -> bool:
    """Whether two sets of parameters are the same, bit by bit."""
    return list(first) == list(second) and all(
        first[name].shape == second[name].shape and first[name].tobytes() == second[name].tobytes() for name in first
    )
