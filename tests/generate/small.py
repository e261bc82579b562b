"""A tokenizer and models that are small, and a decoder that says what it is told to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace

import numpy as np

import engine
from engine.corpus.tokenizer import Tokenizer
from engine.corpus.tokenizer_training import train_description
from engine.devices import Device
from engine.generate.decoder import Snapshot
from engine.model.model import Model

SOURCE = '''"""Sums of prices."""


def total_price(items, limit):
    """The sum of the first prices."""
    total = 0
    for item in items[:limit]:
        total += item.price
    return total


class Basket:
    def __init__(self, items):
        self.items = list(items)

    def price(self):
        return total_price(self.items, len(self.items))


print("naïve → 中", Basket([]).price())
'''


@cache
def tokenizer() -> Tokenizer:
    """With tokens for files and for filling in."""
    return Tokenizer.train([SOURCE] * 3, 400)


@cache
def plain_tokenizer() -> Tokenizer:
    """With an end of text and nothing else that is special."""
    description = train_description([SOURCE], 300)
    names = {token["content"] for token in description["added_tokens"]} - {"<|endoftext|>"}
    renamed = {name: f"word{number}" for number, name in enumerate(sorted(names))}
    for token in description["added_tokens"]:
        token["content"] = renamed.get(token["content"], token["content"])
        token["special"] = token["content"] not in renamed.values()
    vocab = description["model"]["vocab"]
    description["model"]["vocab"] = {renamed.get(name, name): number for name, number in vocab.items()}
    return Tokenizer(description, "a plain tokenizer")


@contextmanager
def open_small(device: Device, tokens: Tokenizer | None = None, seed: int = 0) -> Iterator[Model]:
    """A random model that hardly ever says a special token: their embeddings are small, and so are their scores."""
    tokens = tokens or tokenizer()
    model = engine.create_model(
        {"hidden_size": 24, "num_hidden_layers": 2, "vocab_size": tokens.vocab_size}, seed, device
    )
    try:
        random = np.random.default_rng(seed)
        for name, array in model.parameters.items():
            noise = 0.3 * random.standard_normal(array.shape, np.float32)
            noise += 3.0 * name.endswith("dt_proj.bias")
            if name == "backbone.embeddings.weight":
                noise[list(tokens.special_ids)] = -0.99 * array[list(tokens.special_ids)]
            model.parameters[name] = array + noise
        yield model
    finally:
        model.close()


class ScriptedDecoder:
    """Stands in for `Decoder`: after whatever prompt it says `answer`, token by token, and then the end of the text."""

    def __init__(self, model, *, precision: str = "float32") -> None:
        self.model, self.read_ids, self._said = model, [], 0

    def reset(self) -> None:
        self.read_ids, self._said = [], 0

    def read(self, ids, progress=None, cancelled=None) -> np.ndarray:
        self.read_ids += np.asarray(ids).tolist()
        self._said = 0
        return self._scores()

    def step(self, token: int) -> np.ndarray:
        self.read_ids.append(token)
        self._said += 1
        return self._scores()

    def greedy(self, count: int, first: int) -> np.ndarray:
        assert count == 1
        return np.array([np.argmax(self.step(first))])

    def snapshot(self) -> Snapshot:
        return Snapshot(len(self.read_ids), np.array(self.read_ids, np.float32), np.zeros(1, np.float32))

    def restore(self, snapshot: Snapshot) -> None:
        self.read_ids, self._said = snapshot.history.astype(int).tolist(), 0

    def refresh(self) -> None: ...

    def close(self) -> None: ...

    def _scores(self) -> np.ndarray:
        answer = self.model.answer
        token = answer[self._said] if self._said < len(answer) else self.model.end_of_text
        return np.eye(1, self.model.config.vocab_size, token, dtype=np.float32)[0]


def scripted_model(answer: str | list[int], tokens: Tokenizer) -> SimpleNamespace:
    """What a `ScriptedDecoder` needs of a model."""
    ids = tokens.encode(answer).tolist() if isinstance(answer, str) else answer
    config = SimpleNamespace(vocab_size=tokens.vocab_size + 8)
    return SimpleNamespace(config=config, answer=ids, end_of_text=tokens.special.end_of_text)
