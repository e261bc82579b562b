"""A tokenizer and models that are small, and a decoder that says what it is told to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

import engine
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.corpus.tokens.tokenizer_training import train_description
from engine.devices import Device
from engine.generate.completer import Completer
from engine.generate.few_scores import FewScores
from engine.generate.snapshot import Snapshot
from engine.model.model import Model

SMALL = {"hidden_size": 24, "num_hidden_layers": 2}
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
def open_small(
    device: Device, tokens: Tokenizer | None = None, seed: int = 0, keys: dict[str, Any] = SMALL
) -> Iterator[Model]:
    """A random model that hardly ever says a special token: their embeddings are small, and so are their scores.

    `keys`: of its `config.json`, but for the vocabulary.
    """
    tokens = tokens or tokenizer()
    model = engine.create_model(keys | {"vocab_size": tokens.vocab_size}, seed, device)
    try:
        random = np.random.default_rng(seed)
        for name, array in model.parameters.items():
            noise = 0.3 * random.standard_normal(array.shape, np.float32)
            noise += 3.0 * name.endswith("dt_proj.bias")
            if name == model.config.embedding_name:
                noise[list(tokens.special_ids)] = -0.99 * array[list(tokens.special_ids)]
            model.parameters[name] = array + noise
        yield model
    finally:
        model.close()


class ScriptedDecoder:
    """Stands in for `Decoder`: after whatever prompt it writes again what is typed, byte by byte, then says one of the
    model's answers, token by token, and then the end of the text.
    """

    keeps_every_prefix = False

    def __init__(self, model, *, precision: str = "float32") -> None:
        self.model, self.read_ids, self._said = model, [], []

    def reset(self) -> None:
        self.read_ids, self._said = [], []

    def read(self, ids, progress=None, cancelled=None) -> np.ndarray:
        if cancelled is None:  # not a prompt
            return self.read_each(ids)[-1]
        self.read_ids += np.asarray(ids).tolist()
        self._said = []
        return self._scores()

    def step(self, token: int) -> np.ndarray:
        self.read_ids.append(token)
        self._said.append(token)
        return self._scores()

    def read_each(self, ids) -> np.ndarray:
        return np.stack([self.step(int(token)) for token in ids])

    def read_top(self, ids, k: int):
        scores = self.read_each(ids)[-1]
        best = np.argsort(-scores, kind="stable")[:k]
        return best, scores[best], float(np.logaddexp.reduce(scores.astype(np.float64)))

    room_ahead, worth_reading_ahead, run = 8, 4, 1

    def read_ahead(self, ids, wanted, certain: int = 1) -> FewScores:
        rows = self.read_each(ids)
        best = np.stack([np.logaddexp.reduce(rows, axis=1), rows.max(axis=1), rows.argmax(axis=1)], axis=1)
        return FewScores(best, wanted, rows[:, wanted], lambda: rows)

    def keep(self, count: int, of: int) -> None:
        for kept in (self.read_ids, self._said):
            del kept[len(kept) - (of - count) :]

    def greedy(self, count: int, first: int) -> np.ndarray:
        assert count == 1
        return np.array([np.argmax(self.step(first))])

    def snapshot(self) -> Snapshot:
        return Snapshot(len(self.read_ids), (np.array(self.read_ids, np.float32), np.array(self._said, np.float32)))

    def restore(self, snapshot: Snapshot) -> None:
        self.read_ids, self._said = (array.astype(int).tolist() for array in snapshot.recurrent)

    def refresh(self) -> None: ...

    def close(self) -> None: ...

    def _scores(self) -> np.ndarray:
        """Logarithms of the shares of the answers that continue what was written, in whatever tokens that was."""
        shares = np.full(self.model.config.vocab_size, NEVER)
        said = self._bytes(self._said)
        for share, answer in self.model.answers:
            script = [*self.model.typed_ids, *answer, self.model.end_of_text]
            ends = [self._bytes(script[:count]) for count in range(len(script))]
            if said in ends:
                shares[script[ends.index(said)]] += share
        if shares.sum() < 2 * NEVER * len(shares):
            shares[self.model.end_of_text] = 1.0
        return np.log(shares).astype(np.float32)

    def _bytes(self, ids: list[int]) -> bytes:
        known = self.model.token_bytes
        return b"".join(known[token] if token < len(known) else b"?" for token in ids)


NEVER = 1e-12  # the share of what is in no answer


def scripted_model(answer: str | list[int] | dict[str, float], tokens: Tokenizer) -> SimpleNamespace:
    """What a `ScriptedDecoder` needs of a model.  Several answers come with their shares."""
    shares = list(answer.items()) if isinstance(answer, dict) else [(answer, 1.0)]
    return SimpleNamespace(
        config=SimpleNamespace(vocab_size=tokens.vocab_size + 8),
        network=SimpleNamespace(parameters={}),
        answers=[(share, tokens.encode(one).tolist() if isinstance(one, str) else one) for one, share in shares],
        end_of_text=tokens.special.end_of_text,
        token_bytes=tokens.token_bytes,
        typed_ids=[],
    )


def scripted_completer(answer: str | list[int] | dict[str, float], tokens: Tokenizer | None = None) -> Completer:
    """A completer whose model says `answer` at every cursor.  `Decoder` must be replaced by `ScriptedDecoder`."""
    tokens = tokens or tokenizer()
    completer = Completer(scripted_model(answer, tokens), tokens)
    build = completer._prompts.build

    def noted(*arguments, **named):
        prompt = build(*arguments, **named)
        completer.model.typed_ids = [int(tokens._byte_ids[byte]) for byte in prompt.typed]
        return prompt

    completer._prompts.build = noted
    return completer


def filling_in(completer: Completer) -> Completer:
    """The same, with a model that is shown what is after the cursor."""
    completer.fit = replace(completer.fit, fill_in=True)
    return completer
