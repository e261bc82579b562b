"""Recurrent states and caches side by side: coming back to a text, and completing what is typed and edited."""

from __future__ import annotations

import numpy as np
import pytest

from engine.generate.completer import Completer, CompletionRequest
from engine.generate.decoder import WORTH_KEEPING, Decoder
from engine.generate.options import Stops
from tests.checkpoints.formats.gguf_samples import MODELS, SIZES
from tests.generate.small import SOURCE, open_small, tokenizer

OWN = {
    "model_type": "codecoil_hybrid", "hidden_size": 24, "num_hidden_layers": 3, "mamba2_head_dim": 8,
    "mamba2_state_size": 12, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "window": 40,
    "layer_types": ["mamba2", "attention", "mamba"],
}  # fmt: skip
NAMES = ("granitemoehybrid", "granitemoehybrid with mixers and experts", "falcon_h1")
HYBRIDS = {name: {"model_type": name.split()[0], **SIZES, **MODELS[name]} for name in NAMES} | {"own": OWN}
FEW = Stops(max_tokens=8)


@pytest.mark.parametrize("length", [20, WORTH_KEEPING + 20], ids=["read_again", "put_aside"])
@pytest.mark.parametrize("name", HYBRIDS)
def test_a_snapshot_serves_after_another_text_has_taken_the_cache(device, name, length):
    """A long cache was saved on the host, a short one is read again; the recurrent states come from the snapshot."""
    random = np.random.default_rng(3)
    ids, others = random.integers(0, tokenizer().vocab_size, (2, length + 5))
    with open_small(device, keys=HYBRIDS[name]) as model:
        decoder = Decoder(model)
        decoder.read(ids[:length])
        kept = decoder.snapshot()
        expected = decoder.read_each(ids[length:])
        decoder.reset()
        for _ in range(2):
            decoder.read(others)
            decoder.restore(kept)
            assert decoder.position == length
            assert np.array_equal(decoder.read_each(ids[length:]), expected)
        decoder.close()


@pytest.mark.parametrize("name", HYBRIDS)
def test_typing_editing_and_coming_back_give_the_text_of_a_fresh_start(cpu, name):
    with open_small(cpu, keys=HYBRIDS[name]) as model:
        completer = Completer(model, tokenizer())
        typed = [SOURCE[:end] for end in (200, 201, 207)]
        edited = SOURCE[:60] + "X" + SOURCE[60:207]
        reused = []
        for prefix in (*typed, edited, typed[1], SOURCE[:40], typed[2]):
            request = CompletionRequest(prefix, SOURCE[300:], "shop.py", stops=FEW)
            found = completer.complete(request)
            fresh = Completer(model, tokenizer())
            assert found.text == fresh.complete(request).text
            fresh.close()
            reused.append(found.reused_tokens)
        assert reused[0] == 0 and all(reused[1:3]) and reused[-1] > 0
        completer.close()
