"""Full training can learn a file by heart: if it cannot, something in the chain of gradients is wrong."""

from pathlib import Path

import numpy as np

import engine
from engine.model.step import AdamW

TEXT = Path(__file__).parents[2] / "engine" / "graph" / "tensor.py"


def test_a_file_of_2_kb_is_learned_by_heart(cpu):
    """Bytes are the tokens; each of 16 windows begins with the byte before it."""
    text = np.frombuffer(TEXT.read_bytes()[:2049], np.uint8).astype(np.int32)
    assert text.size == 2049
    symbols, ids = np.unique(text, return_inverse=True)
    windows = np.stack([ids[start : start + 129] for start in range(0, 2048, 128)])
    model = engine.create_model({"hidden_size": 96, "num_hidden_layers": 2, "vocab_size": symbols.size}, device=cpu)
    step = model.training_step("full", 16, 128)
    optimiser = AdamW(learning_rate=1e-2, weight_decay=0.0)
    losses = []
    while len(losses) < 120 and (not losses or losses[-1] >= 0.05):
        losses.append(step.run(windows, optimiser, len(losses) + 1)().loss)
    held = float(model.losses(windows).mean())
    step.close()
    model.close()
    assert losses[0] > 3
    assert held < 0.1
