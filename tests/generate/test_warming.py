"""After a warm-up nothing is compiled or loaded for a completion, whatever the memory is made of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from engine.generate.warming import SAMPLE, requests
from engine.memory.segment import build_segment
from tests.generate.small import tokenizer

ROOT = Path(__file__).parents[2]
# In a process of its own: other tests compile, too.
LATER = """
import gc, sys
from pathlib import Path
import numpy as np
from numba.core.dispatcher import Dispatcher
from engine.devices import open_device
from engine.generate.completer import Completer
from engine.generate.requests import CompletionRequest, Offer
from engine.generate.warming import warm_up
from engine.memory.files import open_segment, save_segment
from engine.memory.names import Names, count_names
from engine.memory.segment import build_segment
from engine.memory.snapshot import MemorySnapshot
from tests.generate.small import SOURCE, open_small, tokenizer


def compiled():
    every = (each for each in gc.get_objects() if isinstance(each, Dispatcher))
    return {(each.py_func.__module__, each.py_func.__name__, str(one)) for each in every for one in each.signatures}


tokens = tokenizer()
other = SOURCE.replace("price", "weight")
counts = count_names([SOURCE.encode(), other.encode()])
names = Names(lambda: counts)
built, small = (
    build_segment([("shop.py", "a", tokens.encode(SOURCE)), (name, "b", tokens.encode(other))], tokens.vocab_size)
    for name in ("other.py", "third.py")
)
save_segment(Path(sys.argv[1]), built, counts)
mapped, _ = open_segment(Path(sys.argv[1]))
nobody = np.empty(0, np.uint8)
dead = np.zeros(len(built.tokens), np.uint8)
dead[1:5] = 1
device = open_device("cpu")
with open_small(device) as model:
    completer = Completer(model, tokens)
    warm_up(completer)
    assert completer.memory is None
    before = compiled()
    memories = [None]
    for large in (built, mapped):
        for parts, gone in (((large,), (nobody,)), ((large,), (dead,)), ((large, small), (dead, nobody))):
            memories.append(MemorySnapshot(tokens, parts, gone, names))
    for completer.memory in memories:
        for path in ("", "shop.py", "new.py"):
            for place in (0, 60, 100, 101, 103, 110, 200, 300, 450):
                rest = SOURCE[place:].partition("\\n")[2]
                completer.complete(CompletionRequest(SOURCE[:place], "\\n" + rest, path, offer=Offer(0.0)))
                completer.complete(CompletionRequest(SOURCE[:place], SOURCE[place:], path, offer=Offer(0.0)))
    print("new:", sorted(each for each in compiled() - before if each[0].startswith("engine.")))
    completer.close()
device.close()
"""


def test_nothing_is_compiled_after_it(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", LATER, str(tmp_path)], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout == "new: []\n", done.stderr


def test_what_is_asked_is_in_the_text():
    for text in (SAMPLE, "x = 1\n", "", "\n\n\n", "a line without an end"):
        for request in requests(text):
            lines = (request.prefix + request.suffix).split("\n")
            assert request.prefix == text[: len(request.prefix)] and len(lines) <= text.count("\n") + 2


def test_of_a_line_nothing_or_a_part_is_typed():
    nothing, part, *_ = requests(SAMPLE)
    assert not nothing.prefix.rpartition("\n")[2].strip() and part.prefix.rpartition("\n")[2].strip()
    assert nothing.suffix.startswith("\n") and nothing.suffix == part.suffix


def test_a_built_segment_is_as_read_only_as_a_mapped_one():
    segment = build_segment([("a.py", "", tokenizer().encode(SAMPLE))], tokenizer().vocab_size)
    assert not any(array.flags.writeable for array in (segment.tokens, segment.order, segment.followers))
