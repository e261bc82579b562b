"""Completions that nobody has asked for, so that none that somebody asks for waits for code to be compiled or loaded.

Numba compiles a function when it is first called, and for every type of its arguments: a second or more each on a new
installation, and milliseconds to load it later. A suggestion goes through dozens of them, but not each one through all:
the lines of similar surroundings, for example, are only looked for at the end of a line.
"""

from __future__ import annotations

import numpy as np

from engine.generate.completer import Completer
from engine.generate.options import Sampling, Stops
from engine.generate.requests import CompletionRequest, Offer
from engine.memory.names import Names, count_names
from engine.memory.segment import build_segment
from engine.memory.snapshot import MemorySnapshot

SAMPLE = """def first_of(items, wanted):
    for item in items:
        if item == wanted:
            return item
    return None


def last_of(items, wanted):
    for item in reversed(items):
        if item == wanted:
            return item
    return None
"""
TYPED = 3  # characters of a line


def requests(text: str) -> tuple[CompletionRequest, ...]:
    """In the middle of `text`: for a line of which nothing or a part has been typed, and for text as it is written."""
    lines = text.split("\n")
    middle = next((n for n in range(len(lines) // 2, len(lines)) if len(lines[n].strip()) > TYPED), 0)
    begin = len("\n".join(lines[:middle])) + bool(middle)
    indent = len(lines[middle]) - len(lines[middle].lstrip())
    edges = (begin + indent, begin + min(indent + TYPED, len(lines[middle])))
    suffix = "\n" + "\n".join(lines[middle + 1 :])
    offers = tuple(CompletionRequest(text[:edge], suffix, offer=Offer(0.0)) for edge in edges)
    sampled = tuple(
        CompletionRequest(text[:begin], suffix, sampling=Sampling(temperature, seed=0), stops=Stops(max_tokens=4))
        for temperature in (0.0, 0.8)
    )
    return (*offers, *sampled)


def warm_up(completer: Completer) -> None:
    """With the memory that the completer has, or one of the sample."""
    completer.prepare()
    memory = completer.memory
    if memory is None:
        completer.memory = _memory_of_sample(completer)
    try:
        for request in requests(SAMPLE):
            completer.complete(request)
    finally:
        completer.memory = memory


def _memory_of_sample(completer: Completer) -> MemorySnapshot:
    tokenizer = completer.tokenizer
    segment = build_segment([("sample.py", "", tokenizer.encode(SAMPLE))], tokenizer.vocab_size)
    names = Names(lambda: count_names([SAMPLE.encode()]))
    return MemorySnapshot(tokenizer, (segment,), (np.empty(0, np.uint8),), names)
