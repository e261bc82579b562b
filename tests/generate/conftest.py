"""The devices that these tests run on, and decoders of all kinds of models."""

from pathlib import Path

import pytest

import engine
from engine.generate.decoder import Decoder
from tests.devices.opened import *  # noqa: F403  (fixtures)
from tests.model.tiny import ODD, TINY, open_model

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture(params=["mamba", "odd", "dense/qwen2", "mamba2/granite", "mamba2/falcon"])
def decoder(request, device):
    """Recurrent, with a cache, and with both."""
    if request.param in ("mamba", "odd"):
        with open_model(device, TINY if request.param == "mamba" else ODD) as model:
            yield from _opened(model)
        return
    model = engine.load_model(FIXTURES / request.param, device)
    yield from _opened(model)
    model.close()


def _opened(model):
    decoder = Decoder(model)
    yield decoder
    decoder.close()
