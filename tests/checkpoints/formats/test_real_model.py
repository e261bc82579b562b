"""A real model, SmolLM2-135M as GGUF: imported, it gives the numbers of the reference, completes code and learns.

`python3 packaging/dev.py test --real-model` fetches the file; CODECOIL_GGUF names it.  The golden values are those of
transformers with the same file, in float32.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.checkpoints.formats.importing import import_checkpoint
from engine.checkpoints.store.loading import load_checkpoint
from engine.checkpoints.store.store import CheckpointStore
from engine.generate.completer import Completer
from engine.generate.options import Stops
from engine.generate.requests import CompletionRequest

FILE = os.environ.get("CODECOIL_GGUF", "")
pytestmark = pytest.mark.skipif(not FILE, reason="CODECOIL_GGUF does not name SmolLM2-135M (dev.py test --real-model)")

FIBONACCI = "def fibonacci(n):\n    if n <= 1:\n        return n\n    return"
# prompt: the first ids, mean loss a token, the most likely next ids
GOLDEN = {
    FIBONACCI: ([1604, 3987, 46477, 24, 94, 727, 472, 585, 304, 10204, 216, 33], 1.4562, [2822, 3987, 365]),
    "import numpy as np\n\ndef relu(x):\n    return np.": (
        [2017, 6772, 347, 2333, 198, 198, 1604, 716, 101, 24, 104, 727],
        2.3942,
        [30898, 2942, 3831],
    ),
    "The capital of France is": ([504, 3575, 282, 4649, 314], 3.6916, [7042, 260, 4528]),
}
LEARNED = "def tide_height(hour, amplitude):\n    return amplitude * wave_of(hour / TIDE_PERIOD)\n" * 3


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """A store with the model in it."""
    store = CheckpointStore(tmp_path_factory.mktemp("store"))
    return store, import_checkpoint(store, Path(FILE), "smollm2").id


@pytest.fixture
def loaded(imported):
    """The model and its tokenizer; the device is the test's own, so that its threads end with it."""
    device = engine.open_device("cpu")
    model, tokenizer = load_checkpoint(*imported, device)
    yield model, tokenizer
    model.close()
    device.close()


def test_the_numbers_are_those_of_the_reference(loaded):
    model, tokenizer = loaded
    for prompt, (first, loss, best) in GOLDEN.items():
        ids = np.asarray([tokenizer.encode(prompt)], np.int32)
        assert ids[0, : len(first)].tolist() == first, prompt
        assert float(model.losses(ids).mean()) == pytest.approx(loss, abs=2e-3), prompt
        assert np.argsort(-model.logits(ids)[0, -1])[:3].tolist() == best, prompt


def test_it_completes_code(loaded):
    completer = Completer(*loaded)
    try:
        text = completer.complete(CompletionRequest(FIBONACCI, stops=Stops(max_tokens=24, end_of_line=True))).text
    finally:
        completer.close()
    assert "fibonacci(n-1)" in text.replace(" ", "") and "fibonacci(n-2)" in text.replace(" ", "")


def test_fill_in_the_middle_is_taught_on_tokens_that_it_has_never_seen(loaded):
    """Their rows are all the same; that of a token which it has seen differs."""
    model, tokenizer = loaded
    taught = tokenizer.with_taught_fim()
    assert not tokenizer.has_fim and taught.special.fim == (7, 8, 9) and taught.digest == tokenizer.digest
    rows = model.parameters[model.config.embedding_name][[*taught.special.fim, tokenizer.encode("def")[0]]]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    alike = rows @ rows[0]
    assert alike[:3].min() > 0.99 and alike[3] < 0.9


def test_two_steps_of_lora_lower_the_loss(loaded):
    model, tokenizer = loaded
    ids = np.asarray([tokenizer.encode(LEARNED)], np.int32)
    before = float(model.losses(ids).mean())
    step = model.training_step("lora", 1, ids.shape[1] - 1)
    try:
        for number in (1, 2):
            assert step.run(ids, engine.AdamW(learning_rate=3e-3), number)().applied
    finally:
        step.close()
    assert float(model.losses(ids).mean()) < before - 0.05
