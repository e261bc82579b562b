"""A model on the device and its tokenizer."""

from __future__ import annotations

import pytest

from app.workers.loaded_model import load_blend, load_one
from engine.checkpoints.store.manifest import Facts
from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.devices import open_device
from engine.model.architectures.reading import config_from
from engine.model.initialise import initial_parameters
from tests.corpus.tokens import samples
from tests.corpus.tokens.test_taught_fim import SMOLLM

KEYS = {"model_type": "llama", "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


@pytest.fixture
def store(tmp_path):
    plain = Tokenizer.load(samples.write_style(tmp_path, SMOLLM))
    config = config_from(KEYS | {"intermediate_size": 16, "vocab_size": plain.vocab_size})
    store = CheckpointStore(tmp_path / "store")
    for seed, (name, tokenizer) in enumerate({"base": plain, "taught": plain.with_taught_fim()}.items()):
        parameters = dict(initial_parameters(config, seed))
        store.save(Facts(name, "full"), config=config, parameters=parameters, tokenizer=tokenizer.to_json().encode())
    return store


def test_a_blend_fills_in_only_if_both_were_measured_to_be_better_with_it(store):
    device = open_device("cpu")
    try:
        with_it = {}
        for names in (("taught",), ("base",), ("taught", "base"), ("base", "taught"), ("taught", "taught")):
            ids = [store.get(name).id for name in names]
            loaded = load_one(store, device, *ids) if len(ids) == 1 else load_blend(store, device, *ids)
            with_it[names] = loaded.completer.fit.fill_in and loaded.tokenizer.has_fim
            loaded.close()
    finally:
        device.close()
    assert [names for names, fills_in in with_it.items() if fills_in] == [("taught",), ("taught", "taught")]
