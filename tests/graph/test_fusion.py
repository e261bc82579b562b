"""Which calls of a decoder's programs become one, and which must not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from engine.devices.webgpu.launches.fused import takes
from engine.generate.programs import DecodeState, Passes
from engine.generate.quantised import DecodeWeights
from engine.graph.fused_kernels import FUSED, parts
from engine.graph.fusion import fused, unfused
from engine.graph.kernels import KERNELS
from engine.graph.tensor import KernelCall, Kind, Program, Tensor
from engine.model.architectures.dense import DenseConfig
from engine.model.architectures.mamba2 import Mamba2Config
from engine.model.blueprint import Blueprint
from engine.model.config import ModelConfig

MAMBA = ModelConfig(vocab_size=64, hidden_size=64, num_hidden_layers=2)
LLAMA = DenseConfig(
    "llama", hidden_size=64, num_hidden_layers=2, vocab_size=64, num_attention_heads=4, num_key_value_heads=2,
    head_dim=16, intermediate_size=96,
)  # fmt: skip
MAMBA_2 = Mamba2Config(vocab_size=64, hidden_size=64, num_hidden_layers=2, num_heads=8, head_dim=16, state_size=16)
PRECISIONS = {"float32": "", "float16": "_float16", "int8": "_int8"}


def decoding(config, cpu, precision="float32", tokens=1) -> Program:
    state = DecodeState(config, 32, cpu.limits.max_binding_bytes)
    weights = DecodeWeights(Blueprint(config, cpu).network, cpu, precision)
    return Passes(weights, cpu, state).read(tokens, "logits")


def kernels(program: Program) -> Counter:
    return Counter(call.kernel for call in program.calls)


@pytest.mark.parametrize(("precision", "end"), PRECISIONS.items())
def test_a_mamba_layer_is_four_calls(cpu, precision, end):
    layer = Counter([f"norm_matmul_conv{end}", "matmul_nt", "scan_gated", f"matmul_nt{end}"])
    rest = Counter(["embedding_gather", f"norm_matmul_nt{end}"])
    assert kernels(fused(decoding(MAMBA, cpu, precision), takes)) == layer + layer + rest


@pytest.mark.parametrize(("precision", "end"), PRECISIONS.items())
def test_of_attention_and_mlp_the_norms_and_the_gate_go(cpu, precision, end):
    program = fused(decoding(LLAMA, cpu, precision), takes)
    assert not {"rmsnorm", "swiglu"} & kernels(program).keys()
    assert kernels(program)[f"norm_gated{end}"] == 2 and kernels(program)[f"norm_matmul_nt{end}"] == 3 * 2 + 1


def test_a_token_of_attention_is_eight_calls_a_layer(cpu):
    assert len(fused(decoding(LLAMA, cpu), takes).calls) == 2 * 8 + 2
    assert len(decoding(LLAMA, cpu).calls) == 2 * 15 + 3


def test_a_mamba_2_layer_is_three_calls(cpu):
    program = fused(decoding(MAMBA_2, cpu), takes)
    assert kernels(program) == Counter(norm_matmul_conv=2, ssd_gated=2, norm_matmul_nt=2 + 1, embedding_gather=1), (
        "the norm of the gated output is done by out_proj"
    )


@pytest.mark.parametrize("config", [MAMBA, MAMBA_2, LLAMA], ids=["mamba", "mamba 2", "llama"])
def test_every_operand_has_been_written_before_it_is_read(cpu, config):
    program = fused(decoding(config, cpu), takes)
    written = set(program.inputs.values())
    for call in program.calls:
        for view, spec in zip(call.operands, KERNELS[call.kernel].operands, strict=True):
            if view is not None and view.tensor.slab is None:
                assert spec.access == "w" or view.tensor in written or spec.access == "x", f"{spec.name} of {call}"
        written |= {view.tensor for view in call.operands if view is not None}
    assert set(program.outputs.values()) <= written


def test_of_more_tokens_than_one_only_the_last_row_is_concerned(cpu):
    program = fused(decoding(MAMBA, cpu, tokens=2), takes)
    assert {kernel: count for kernel, count in kernels(program).items() if kernel in FUSED} == {"norm_matmul_nt": 1}


def test_a_device_without_such_kernels_gets_what_they_stand_for(cpu):
    program = decoding(MAMBA, cpu)
    again = unfused(fused(program, takes), lambda call: False)
    assert FUSED.isdisjoint(kernels(again)) and kernels(again) - kernels(program) == Counter(carry_state=2)
    assert unfused(program, lambda call: False) is program


@pytest.mark.parametrize("kernel", ["norm_matmul_nt_int8", "norm_matmul_conv_float16", "norm_gated", "scan_gated"])
def test_what_a_device_does_not_take_is_not_made(cpu, kernel):
    precision = {end: name for name, end in PRECISIONS.items()}
    end = next(end for end in ("_int8", "_float16", "") if kernel.endswith(end))
    program = decoding(LLAMA if kernel == "norm_gated" else MAMBA, cpu, precision[end])
    assert kernel in kernels(fused(program, takes))
    assert kernel not in kernels(fused(program, lambda call: takes(call) and call.kernel != kernel))


def small_layer(**changes) -> Program:
    """A norm and a product of it; `changes` are those of the program."""
    x, scale, normed, inverse = (Tensor(name, shape) for name, shape in _SHAPES.items())
    b, c = Tensor("b", (8, 16), kind=Kind.WEIGHTS), Tensor("c", (1, 8))
    calls = [
        KernelCall("rmsnorm", (x.view(), scale.view(), normed.view(), inverse.view()), {"epsilon": 1e-5}),
        KernelCall("matmul_nt", (normed.view(), b.view(), c.view(), None, None), {"alpha": 1.0, "accumulate": 0}),
    ]
    return replace(Program("layer", calls, {"x": x, "scale": scale, "b": b}, {"c": c}), **changes)


_SHAPES = {"x": (1, 16), "scale": (16,), "normed": (1, 16), "inverse": (1,)}


def test_a_small_layer_is_one_call():
    (call,) = fused(small_layer(), takes).calls
    assert call.kernel == "norm_matmul_nt" and [each.kernel for each in parts(call)] == ["rmsnorm", "matmul_nt"]


def test_what_is_read_after_the_run_is_not_left_out():
    program = small_layer()
    normed = program.calls[0].operands[2].tensor
    program.outputs["normed"] = normed
    assert fused(program, takes) is program


def test_what_somebody_else_reads_is_not_left_out():
    program = small_layer()
    normed, y = program.calls[0].operands[2], Tensor("y", (1, 16))
    program.calls.append(KernelCall("swiglu", (normed, y.view(shape=(1, 8))), {}))
    assert fused(program, takes) is program


def test_a_norm_is_not_moved_behind_a_change_of_its_input():
    program = small_layer()
    x = program.calls[0].operands[0]
    program.calls.insert(1, KernelCall("scale", (x,), {"rows": 1, "columns": 16, "factor": 2.0}))
    assert fused(program, takes) is program


def test_a_product_that_adds_to_its_result_keeps_its_norm():
    program = small_layer()
    _, product = program.calls
    program.calls[1] = replace(product, numbers={"alpha": 1.0, "accumulate": 1})
    assert fused(program, takes) is program


@pytest.mark.parametrize("reader", ["gate", "cache"])
def test_columns_that_are_convolved_in_place_are_read_by_nobody_else(cpu, reader):
    program = decoding(MAMBA, cpu)
    conv = next(call for call in program.calls if call.kernel == "causal_conv_silu_tokens")
    columns, y = conv.operands[0], Tensor("y", conv.operands[4].shape)
    place = program.calls.index(conv) + (2 if reader == "gate" else 1)
    program.calls.insert(place, KernelCall("gate", (columns, columns, y.view()), {}))
    assert kernels(fused(program, takes))["norm_matmul_conv"] == 1
