"""The tape: what needs no gradient is not in the program, and a wrong call is refused when it is written."""

import math
from collections import Counter

import pytest

from engine.devices.interface import Limits
from engine.graph.kernels import KERNELS
from engine.graph.tape import Tape
from engine.model.blueprint import Blueprint
from engine.model.config import ModelConfig
from engine.model.step import loss_program, step_program

CONFIG = ModelConfig()  # the size that the issue measures: 256 x 6, vocabulary 8,192
LAYERS = CONFIG.num_hidden_layers
LAYER = "backbone.layers.{}.mixer.{}.weight"
EMBEDDING = "backbone.embeddings.weight"
TOKENS = range(0, 8192, 8)  # whose embedding rows mode vocabulary trains


@pytest.fixture
def programs(cpu):
    """Training steps of each mode by name, and the forward pass alone."""
    blueprint = Blueprint(CONFIG, cpu)
    found = {"forward": loss_program(blueprint.network, cpu, 4, 256)}
    for mode in ("full", "wsla"):
        found[mode] = step_program(blueprint.network, cpu, blueprint.trained_set(mode), 4, 256)
    blueprint.add_adapters(8, 1.0)
    for mode, tokens in (("lora", None), ("vocabulary", TOKENS)):
        found[mode] = step_program(blueprint.network, cpu, blueprint.trained_set(mode, tokens), 4, 256)
    return found


def multiplications(program):
    """Of the matrix products, which are nearly all the work."""
    total = 0
    for call in program.calls:
        if call.kernel.startswith("matmul"):
            a, _, c, *_ = call.operands
            total += math.prod(c.shape) * a.shape[0 if call.kernel == "matmul_tn" else 1]
    return total


def uses(program, parameter):
    """Kernels that take a parameter, in order."""
    return [call.kernel for call in program.calls if any(v and v.tensor.name == parameter for v in call.operands)]


def count(program):
    return Counter(call.kernel for call in program.calls)


def test_wsla_and_lora_do_less(programs):
    work = {name: multiplications(program) for name, program in programs.items()}
    assert work["full"] == pytest.approx(3 * work["forward"], rel=0.01)
    # counted by hand for these shapes: 67 % of the step, 51 % of the backward
    assert work["wsla"] < 0.70 * work["full"]
    assert work["wsla"] - work["forward"] < 0.55 * (work["full"] - work["forward"])
    assert work["forward"] < work["wsla"] < work["lora"] < 0.80 * work["full"]
    calls = {name: len(program.calls) for name, program in programs.items()}
    assert calls["forward"] < calls["wsla"] < calls["full"]


def test_the_gradient_of_a_mode_is_all_that_its_program_writes_to(programs):
    """By what is written: full has a gradient for each parameter, WSLA one for each x_proj."""
    written = {}
    for name, program in programs.items():
        written[name] = {
            view.tensor.name
            for call in program.calls
            for view, operand in zip(call.operands, KERNELS[call.kernel].operands, strict=True)
            if view is not None and operand.writes and view.tensor.slab is not None
        }
    assert written["forward"] == set()
    assert written["full"] == set(CONFIG.parameter_shapes())
    assert written["wsla"] == {LAYER.format(i, "x_proj") for i in range(LAYERS)}
    assert len(written["lora"]) == 4 * LAYERS
    assert all(".lora_" in name for name in written["lora"])
    assert written["vocabulary"] == written["lora"] | {EMBEDDING}


def test_wsla_has_one_weight_gradient_a_layer(programs):
    products = [call for call in programs["wsla"].calls if call.kernel == "matmul_tn"]
    rows = 2 * CONFIG.state_size
    assert [call.operands[2].shape for call in products] == [(rows, CONFIG.intermediate_size)] * LAYERS
    kernels = count(programs["wsla"])
    assert kernels["embedding_scatter"] == kernels["scan_coefficients_backward"] == 0
    for call in programs["wsla"].calls:
        if call.kernel == "rmsnorm_backward":
            assert call.operands[-1] is None
        if call.kernel == "causal_conv_silu_backward":
            assert call.operands[-2:] == (None, None)
        if call.kernel == "selective_scan_backward":
            assert not call.numbers["want_coefficients"]


def test_the_first_layer_of_wsla_stops_at_the_gradient_of_its_rows(programs):
    program = programs["wsla"]
    assert uses(program, LAYER.format(0, "in_proj")) == ["matmul_nt"]
    assert uses(program, LAYER.format(0, "dt_proj")) == ["matmul_nt"]
    assert uses(program, LAYER.format(0, "x_proj")) == ["matmul_nt", "matmul_tn"]  # forward, and its own gradient
    assert uses(program, LAYER.format(1, "in_proj")) == ["matmul_nt", "matmul_nn"]
    assert uses(program, LAYER.format(1, "dt_proj")) == ["matmul_nt", "matmul_nn"]
    assert uses(program, "backbone.layers.0.norm.weight") == ["rmsnorm"]
    kernels = count(program)
    assert kernels["causal_conv_silu_backward"] == LAYERS - 1
    assert kernels["rmsnorm_backward"] == LAYERS  # the last norm and all layers but the first
    scans = [call for call in program.calls if call.kernel == "selective_scan_backward"]
    assert [call.numbers["want_inputs"] for call in scans] == [1] * (LAYERS - 1) + [
        0
    ]  # backward: the first layer is last
    # and its gate passes no gradient to z
    gates = [call for call in program.calls if call.kernel == "gate_backward"]
    assert [gate.operands[3] is None for gate in gates] == [False] * (LAYERS - 1) + [True]


def test_lora_stops_at_the_first_adapter(programs):
    program = programs["lora"]
    assert uses(program, "backbone.layers.0.norm.weight") == ["rmsnorm"]
    assert uses(program, LAYER.format(0, "in_proj")) == ["matmul_nt"]  # its input needs no gradient
    assert uses(program, "backbone.embeddings.weight").count("matmul_tn") == 0
    assert count(program)["embedding_scatter"] == 0


def test_the_gradient_of_all_rows_of_the_embedding_exists_only_where_all_are_trained(programs):
    """An eighth of the vocabulary is an eighth of the work for the head's gradient, and of its memory."""
    k, m = len(TOKENS), CONFIG.hidden_size
    written = {}
    for mode in ("full", "vocabulary"):
        operands = [view for call in programs[mode].calls for view in call.operands if view is not None]
        written[mode] = {view.tensor.shape for view in operands if view.tensor.name == EMBEDDING}
    assert written["full"] == {(CONFIG.vocab_size, m)}
    assert written["vocabulary"] == {(CONFIG.vocab_size, m), (k, m), (k,)}  # the table, the gradient, which rows
    largest = max(t.nbytes for t in programs["vocabulary"].tensors() if t.slab is None)
    assert largest <= max(t.nbytes for t in programs["lora"].tensors() if t.slab is None)
    work = {mode: multiplications(programs[mode]) for mode in ("lora", "vocabulary")}
    # and one product more than with LoRA: at the first layer the gradient has to reach the embedding
    first_layer = 4 * 256 * m * 2 * CONFIG.intermediate_size
    assert work["vocabulary"] - work["lora"] < 1.1 * (4 * 256 * k * m + first_layer)


def test_a_step_has_few_dispatches_a_layer(programs):
    assert len(programs["full"].calls) <= 30 * LAYERS + 20


def test_the_logits_of_all_tokens_are_never_held(programs):
    tokens, chunk = 4 * 256, 8 * 2**20
    for program in programs.values():
        logits = [t for t in program.tensors() if t.name.startswith("logits")]
        assert len(logits) > 1
        assert max(t.nbytes for t in logits) <= chunk < 4 * tokens * CONFIG.vocab_size


@pytest.mark.parametrize(
    "nbytes, binding, rows",
    [
        (2**30, 2**27, [1024]),
        (12 * 2**20, 2**27, [384, 384, 256]),
        (20 * 2**20, 2**27, [512, 512]),
        (2**30, 2**24, [512, 512]),
    ],
    ids=["all at once", "whole tiles", "equal chunks", "within a binding"],
)
def test_a_device_may_ask_for_more_logits_at_a_time(cpu, monkeypatch, nbytes, binding, rows):
    blueprint = Blueprint(CONFIG, cpu)
    monkeypatch.setattr(cpu, "logits_bytes", nbytes, raising=False)
    monkeypatch.setattr(cpu, "limits", Limits(binding, binding))
    program = step_program(blueprint.network, cpu, blueprint.trained_set("full"), 4, 256)
    assert [call.operands[0].shape[0] for call in program.calls if call.kernel == "cross_entropy"] == rows


def test_a_second_micro_batch_adds_to_the_gradients(cpu):
    """Every write to a gradient says whether it adds, and the first of a fresh step does not."""
    blueprint = Blueprint(CONFIG, cpu)
    trained = blueprint.trained_set("full")
    gradients = {id(tensor) for rows in trained.rows.values() for tensor in rows.gradients}
    for accumulate in (False, True):
        program = step_program(blueprint.network, cpu, trained, 1, 8, accumulate=accumulate)
        seen = set()
        for call in program.calls:
            for view, operand in zip(call.operands, KERNELS[call.kernel].operands, strict=True):
                if view is not None and operand.writes and id(view.tensor) in gradients:
                    if "accumulate" in call.numbers:
                        assert bool(call.numbers["accumulate"]) is (accumulate or id(view.tensor) in seen)
                    assert not (accumulate and call.kernel == "fill")
                    seen.add(id(view.tensor))
        assert seen == gradients


def test_a_call_that_does_not_fit_its_signature_is_refused(cpu):
    tape = Tape("wrong", cpu)
    x = tape.new("x", (4, 4))
    with pytest.raises(TypeError, match="fill"):
        tape.emit("fill", x)
    with pytest.raises(TypeError, match="fill"):
        tape.emit("fill", x, x, value=0.0)
    with pytest.raises(TypeError, match="rmsnorm needs scale"):
        tape.emit("rmsnorm", x, None, x, x, epsilon=1e-5)
    with pytest.raises(KeyError):
        tape.emit("no such kernel", x)
    assert tape.program.calls == []


def test_names_of_tensors_are_told_apart(cpu):
    tape = Tape("names", cpu)
    assert [tape.new("y", (1,)).name for _ in range(3)] == ["y", "y.1", "y.2"]
