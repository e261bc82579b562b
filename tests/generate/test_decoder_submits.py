"""What decoding costs a WebGPU device: one submit a token or more, and less than a kilobyte read back."""

import numpy as np
import pytest

from engine.generate.options import Sampling
from engine.graph.tensor import READ_BACK
from tests.generate.test_decoder import open_decoder

LONG_VOCABULARY = {"hidden_size": 12, "num_hidden_layers": 2, "vocab_size": 1500}

DRAWN = Sampling(0.8)
SOME = np.arange(0, 1500, 3, dtype=np.int32)


@pytest.fixture
def decoder(webgpu, monkeypatch):
    """A decoder whose programs are there; nothing may be read but what comes back with a submit."""
    with open_decoder(webgpu, LONG_VOCABULARY) as opened:
        opened.read_top([1], 40)
        opened.greedy(8, 1)
        opened.draw(8, 1, DRAWN, [1], 0)
        opened.read_ahead([1, 2, 3], SOME)

        def refuse(*arguments):
            raise AssertionError("read back on its own")

        monkeypatch.setattr(webgpu, "read_at", refuse)
        yield opened
        monkeypatch.undo()


@pytest.mark.parametrize(
    "move",
    [
        lambda decoder: decoder.read_top([1], 40),
        lambda decoder: decoder.greedy(8, 1),
        lambda decoder: decoder.draw(8, 1, DRAWN, [1], 0),
        lambda decoder: decoder.read_ahead([1, 2, 3], SOME).of(2, SOME[3:]),
    ],
    ids=["a token and its best", "eight greedy tokens", "eight drawn tokens", "three tokens, two of them guessed"],
)
def test_one_submit(decoder, webgpu, move):
    before = webgpu.submits
    move(decoder)
    assert webgpu.submits == before + 1


def test_less_than_a_kilobyte_comes_back_and_five_of_each_token_that_is_guessed(decoder):
    returned = {
        key: executable.plan.program.outputs[READ_BACK].nbytes
        for key, executable in decoder._executables.items()
        if executable.plan.program.outputs
    }
    assert {kind for kind, *_ in returned} == {"read", "greedy", "drawn", "ahead"}
    for (kind, tokens, *_), nbytes in returned.items():
        assert nbytes < (5000 * tokens if kind == "ahead" else 1000), kind
