"""The table of precisions, with held-out losses measured by a real model."""

import numpy as np
import pytest

import engine
from engine.checkpoints.combining.packed_models import PRECISIONS, packed_bytes
from engine.checkpoints.combining.precision_table import precision_table
from engine.devices import open_device
from engine.model.step import AdamW
from tests.checkpoints.combining.samples import CONFIG, LAYER, parameters


def text(seed: int) -> np.ndarray:
    """Ids (4, 33) that a model can learn: each follows from the one before."""
    starts = np.random.default_rng(seed).integers(0, CONFIG.vocab_size, (4, 1))
    return (starts + 7 * np.arange(33)) % CONFIG.vocab_size


@pytest.fixture
def trained():
    device = open_device("cpu")
    model = engine.create_model(CONFIG, 0, device)
    step = model.training_step("full", 4, 32)
    for number in range(1, 41):
        step.run(text(number), AdamW(learning_rate=1e-2), number)()
    step.close()
    yield model
    model.close()
    device.close()


def test_measured_losses(trained):
    before = dict(trained.parameters)

    def evaluate(candidate):
        for name, array in candidate.items():
            trained.parameters[name] = array
        return float(trained.losses(text(1000)).mean())

    rows = {row.precision: row for row in precision_table(before, CONFIG, evaluate=evaluate)}
    assert list(rows) == list(PRECISIONS)
    exact = rows["float32"]
    assert exact.held_out_loss == evaluate(before)
    assert exact.held_out_loss < 2 < np.log(CONFIG.vocab_size)  # it has learnt something that packing can lose
    assert (exact.largest_error, exact.relative_error, exact.share) == (0, 0, 1)
    for name, row in rows.items():
        assert row.nbytes == packed_bytes(CONFIG, name)
        assert row.problem == ""
    for name, limit in (("bfloat16", 0.02), ("float16", 0.005), ("int8", 0.05), ("q8_0", 0.05)):
        assert abs(rows[name].held_out_loss - exact.held_out_loss) < limit
    for better, worse in (("float16", "bfloat16"), ("bfloat16", "q8_0"), ("q8_0", "q4_0"), ("int4", "ternary")):
        assert rows[better].relative_error < rows[worse].relative_error
    assert rows["int4"].relative_error < rows["q4_0"].relative_error
    assert rows["binary"].held_out_loss > rows["q4_0"].held_out_loss
    assert rows["q4_0"].nbytes < rows["q8_0"].nbytes < rows["float16"].nbytes < exact.nbytes


def test_the_largest_error_is_that_of_the_worst_weight():
    of = parameters()
    of[f"{LAYER}.out_proj.weight"][3, 5] = 1000.3
    (row,) = precision_table(of, CONFIG, ["float16"])
    assert row.largest_error == abs(float(np.float16(1000.3)) - float(np.float32(1000.3)))
    assert row.held_out_loss is None


def test_a_model_that_cannot_be_packed_has_a_row_that_says_so():
    of = parameters()
    of[f"{LAYER}.in_proj.weight"][0, 0] = 1e6
    rows = {row.precision: row for row in precision_table(of, CONFIG, ["float16", "bfloat16"], lambda _: 1.0)}
    assert "in_proj.weight holds 1e+06, which float16" in rows["float16"].problem
    assert (rows["float16"].held_out_loss, rows["bfloat16"].held_out_loss) == (None, 1.0)
