"""What decoding costs a WebGPU device: one submit a token or more, and less than a kilobyte read back."""

import pytest

from tests.generate.test_decoder import open_decoder

LONG_VOCABULARY = {"hidden_size": 12, "num_hidden_layers": 2, "vocab_size": 1500}


@pytest.fixture
def decoder(webgpu, monkeypatch):
    """A decoder whose programs are there; nothing may be read but what comes back with a submit."""
    with open_decoder(webgpu, LONG_VOCABULARY) as opened:
        opened.read_top([1], 40)
        opened.greedy(8, 1)

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
    ],
    ids=["a token and its best", "eight greedy tokens"],
)
def test_one_submit(decoder, webgpu, move):
    before = webgpu.submits
    move(decoder)
    assert webgpu.submits == before + 1


def test_less_than_a_kilobyte_comes_back(decoder):
    for key, executable in decoder._executables.items():
        sizes = [tensor.nbytes for tensor in executable.plan.program.outputs.values()]
        assert sum(sizes) < 1000, key
