"""Every backward of the float64 reference against central differences of its forward.

The other tests compare the kernels with the reference; an equation that is wrong in both is found here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from engine.devices.reference import reference
from engine.devices.samples import Sample, Sizes, make_sample
from engine.graph.kernels import Scalars
from tests.kernels.comparison import with_operands

LIMIT = 1e-6  # relative to the largest gradient
STEP = 1e-5
ELEMENTS = 60  # of each input, chosen at random where there are more

Inputs = dict[str, np.ndarray]


def float64_sample(kernel: str, sizes: Sizes, seed: int = 0, **numbers: float) -> Sample:
    """A sample whose floats are float64, so that a step of 1e-5 is seen."""
    sample = make_sample(kernel, sizes, seed, **numbers)
    widened = {
        name: array.astype(np.float64) if array is not None and array.dtype == np.float32 else array
        for name, array in sample.operands.items()
    }
    return replace(sample, operands=widened)


def check_gradients(loss: Callable[[Inputs], float], inputs: Inputs, gradients: Inputs) -> None:
    """`gradients` of `loss` at `inputs`, element by element."""
    random = np.random.default_rng(0)
    for name, gradient in gradients.items():
        assert gradient.shape == inputs[name].shape, name
        largest = np.abs(gradient).max()
        assert largest > 0, name
        chosen = random.permutation(gradient.size)[:ELEMENTS]
        for index in (np.unravel_index(i, gradient.shape) for i in chosen):
            sides = []
            for step in (STEP, -STEP):
                moved = inputs[name].copy()
                moved[index] += step
                sides.append(loss({**inputs, name: moved}))
            slope = (sides[0] - sides[1]) / (2 * STEP)
            assert abs(slope - gradient[index]) <= LIMIT * largest, f"d_{name}{list(map(int, index))}"


def weighted(sample: Sample, output: str, weights: np.ndarray) -> Callable[[Inputs], float]:
    """The loss whose gradient of `output` is `weights`."""
    return lambda inputs: float((reference(with_operands(sample, **inputs))[output] * weights).sum())


def test_a_wrong_gradient_is_found():
    with pytest.raises(AssertionError, match="d_x"):
        check_gradients(lambda inputs: float((inputs["x"] ** 2).sum()), {"x": np.ones(3)}, {"x": np.full(3, 2.00001)})


def test_embedding():
    sizes = Sizes(b=2, l=5, m=3, v=8)
    forward, backward = float64_sample("embedding_gather", sizes), float64_sample("embedding_scatter", sizes)
    ids, table = backward.operands["ids"], forward.operands["table"]
    d_y = backward.operands["d_y"]
    d_table = reference(with_operands(backward, d_table=np.zeros_like(table)))["d_table"]
    check_gradients(weighted(with_operands(forward, ids=ids), "y", d_y), {"table": table}, {"table": d_table})


@pytest.mark.parametrize("m", [1, 2, 7])
def test_rmsnorm(m):
    sizes = Sizes(b=2, l=5, m=m)
    forward, backward = float64_sample("rmsnorm", sizes), float64_sample("rmsnorm_backward", sizes, accumulate=0)
    inputs = {name: forward.operands[name] for name in ("x", "scale")}
    d_y = backward.operands["d_y"]
    inverse_rms = reference(forward)["inverse_rms"]
    found = reference(with_operands(backward, **inputs, inverse_rms=inverse_rms))
    gradients = {"x": found["d_x"], "scale": found["d_scale"].sum(axis=0)}
    check_gradients(weighted(forward, "y", d_y), inputs, gradients)


@pytest.mark.parametrize("layout", ["nt", "nn", "tn"])
def test_products(layout):
    """The gradients of a product are the two other layouts: what a linear layer and its transpose use."""
    forward = float64_sample(f"matmul_{layout}", Sizes(b=1, l=4, d=3, v=5), alpha=1.0, accumulate=0)
    a, b = forward.operands["a"], forward.operands["b"]
    d_c = float64_sample("matmul_nn", Sizes(b=1, l=4, d=3, v=5), seed=1).operands["c"]

    def product(other: str, left: np.ndarray, right: np.ndarray, like: np.ndarray) -> np.ndarray:
        numbers = {"alpha": 1.0, "accumulate": 0}
        operands = {"a": left, "b": right, "c": np.zeros_like(like), "addend": None, "bias": None}
        return reference(Sample(f"matmul_{other}", operands, numbers))["c"]

    gradients = {
        "nt": lambda: (product("nn", d_c, b, a), product("tn", d_c, a, b)),
        "nn": lambda: (product("nt", d_c, b, a), product("tn", a, d_c, b)),
        "tn": lambda: (product("nt", b, d_c, a), product("nn", a, d_c, b)),
    }[layout]()
    inputs = {"a": a, "b": b, "addend": forward.operands["addend"], "bias": forward.operands["bias"]}
    others = {"addend": d_c, "bias": d_c.sum(axis=0)}
    check_gradients(weighted(forward, "c", d_c), inputs, {"a": gradients[0], "b": gradients[1], **others})


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("length", [2, 6])
def test_causal_conv_silu(k, length):
    sizes = Sizes(b=2, l=length, d=3, k=k)
    forward = with_operands(float64_sample("causal_conv_silu", sizes), history=None)
    backward = float64_sample("causal_conv_silu_backward", sizes)
    inputs = {name: forward.operands[name] for name in ("x", "weight", "bias")}
    found = reference(with_operands(backward, **inputs))
    gradients = {"x": found["d_x"], "weight": found["d_weight"].sum(axis=0), "bias": found["d_bias"].sum(axis=0)}
    check_gradients(weighted(forward, "y", backward.operands["d_y"]), inputs, gradients)


@pytest.mark.parametrize("carry", [0, 1])
@pytest.mark.parametrize(
    "sizes", [Sizes(b=2, l=5, d=3, n=2, r=2), Sizes(b=1, l=67, d=2, n=3, r=1)], ids=["short", "long"]
)
def test_selective_scan(sizes, carry):
    """From A_log, D, dt_bias, B, C, delta and u, through the coefficients, over more than one kept state."""
    coefficients = float64_sample("scan_coefficients", sizes)
    forward = float64_sample("selective_scan", sizes, carry=carry)
    backward = float64_sample("selective_scan_backward", sizes)
    of_coefficients = float64_sample("scan_coefficients_backward", sizes, accumulate=0)
    inputs = {name: coefficients.operands[name] for name in ("A_log", "D", "dt_bias")}
    inputs["dt_bias"] = inputs["dt_bias"] - 2
    inputs |= {name: forward.operands[name] for name in ("u", "delta", "x_dbl")}
    d_y = backward.operands["d_y"]

    def run_forward(values: Inputs) -> tuple[Inputs, Inputs]:
        leaves = {name: values[name] for name in ("A_log", "D", "dt_bias")}
        rows = {name: values[name] for name in ("u", "delta", "x_dbl")}
        rows["coefficients"] = reference(with_operands(coefficients, **leaves))["coefficients"]
        return rows, reference(with_operands(forward, **rows))

    rows, after = run_forward(inputs)
    found = reference(with_operands(backward, **rows, states=after["states"]))
    d_leaves = reference(
        with_operands(of_coefficients, d_coefficients=found["d_coefficients"], coefficients=rows["coefficients"])
    )
    gradients = {
        **{name: d_leaves[f"d_{name}"] for name in ("A_log", "D", "dt_bias")},
        "u": found["d_y"],
        "delta": found["delta"],
        "x_dbl": np.pad(found["d_BC"], ((0, 0), (sizes.r, 0))),  # the rank's columns do not count
    }
    check_gradients(lambda values: float((run_forward(values)[1]["y"] * d_y).sum()), inputs, gradients)


@pytest.mark.parametrize("carry", [0, 1])
@pytest.mark.parametrize(
    "sizes", [Sizes(b=2, l=5, d=3, n=2, r=4), Sizes(b=1, l=67, d=2, n=3, r=3)], ids=["short", "long"]
)
def test_ssd(sizes, carry):
    """From A_log, D, dt_bias, dt and x, through coefficients and steps; two groups, and more than one kept state."""
    limits = {"lowest": 0.0, "highest": 3e38}
    coefficients = float64_sample("scan_coefficients", Sizes(d=sizes.r, n=1))
    of_steps = float64_sample("ssd_steps", sizes, **limits)
    forward, backward = float64_sample("ssd", sizes, carry=carry), float64_sample("ssd_backward", sizes)
    steps_backward = float64_sample("ssd_steps_backward", sizes, **limits)
    of_coefficients = float64_sample("scan_coefficients_backward", Sizes(d=sizes.r, n=1), accumulate=0)
    inputs = {name: coefficients.operands[name] for name in ("A_log", "D", "dt_bias")}
    inputs["dt_bias"] = inputs["dt_bias"] - 2
    inputs |= {"dt": of_steps.operands["dt"], "x": forward.operands["x"]}
    d_y = backward.operands["d_y"]

    def run_forward(values: Inputs) -> tuple[Inputs, Inputs]:
        leaves = {name: values[name] for name in ("A_log", "D", "dt_bias")}
        known = {"coefficients": reference(with_operands(coefficients, **leaves))["coefficients"]}
        steps = reference(with_operands(of_steps, dt=values["dt"], **known))["steps"]
        known |= {"steps": steps, "x": values["x"]}
        return known, reference(with_operands(forward, **known))

    known, after = run_forward(inputs)
    found = reference(with_operands(backward, **known, states=after["states"], d_y=d_y))
    both = {"steps": known["steps"], "coefficients": known["coefficients"], "d_steps": found["d_steps"]}
    of_dt = reference(with_operands(steps_backward, dt=inputs["dt"], **both))
    d_coefficients = {"d_coefficients": of_dt["d_coefficients"], "coefficients": known["coefficients"]}
    d_leaves = reference(with_operands(of_coefficients, **d_coefficients))
    gradients = {name: d_leaves[f"d_{name}"] for name in ("A_log", "D", "dt_bias")}
    gradients |= {"x": found["d_x"], "dt": of_dt["d_dt"]}
    check_gradients(lambda values: float((run_forward(values)[1]["y"] * d_y).sum()), inputs, gradients)


def test_gate():
    sizes = Sizes(b=2, l=3, d=4)
    forward, backward = float64_sample("gate", sizes), float64_sample("gate_backward", sizes)
    inputs = {name: forward.operands[name] for name in ("y", "z")}
    d_g = backward.operands["d_g"]
    found = reference(with_operands(backward, **inputs))
    check_gradients(weighted(forward, "g", d_g), inputs, {"y": found["d_g"], "z": found["d_z"]})
    assert np.array_equal(found["y"], reference(forward)["g"])


def test_cross_entropy():
    sample = float64_sample("cross_entropy", Sizes(b=2, l=4, v=6))
    assert (sample.operands["targets"] < 0).any()
    assert (sample.operands["targets"] >= 0).any()
    scale = sample.operands["scalars"][Scalars.GRADIENT_SCALE]
    weights = np.full(8, scale)
    logits = sample.operands["logits"]
    check_gradients(weighted(sample, "losses", weights), {"logits": logits}, {"logits": reference(sample)["logits"]})


@pytest.mark.parametrize("sizes", [Sizes(b=1, l=4, n=2, r=1), Sizes(b=2, l=7, n=4, r=2)])
def test_attention(sizes):
    forward = float64_sample("attention", sizes)
    inputs = {name: forward.operands[name] for name in ("q", "k", "v")}
    given = reference(forward)
    d_y = float64_sample("attention_backward_queries", sizes).operands["d_y"]
    deltas = with_operands(float64_sample("attention_deltas", sizes), d_y=d_y, y=given["y"], sums=given["sums"])
    known = {**inputs, "d_y": d_y, "sums": reference(deltas)["sums"]}
    gradients = {}
    for kernel in ("attention_backward_queries", "attention_backward_keys"):
        found = reference(with_operands(float64_sample(kernel, sizes), **known))
        gradients |= {name.removeprefix("d_"): array for name, array in found.items()}
    check_gradients(weighted(forward, "y", d_y), inputs, gradients)


def test_rope():
    sizes = Sizes(b=1, l=5, n=6, r=2)
    forward, backward = float64_sample("rope", sizes), float64_sample("rope", sizes, seed=1, sign=-1)
    d_y = backward.operands["x"]
    gradients = {"x": reference(backward)["x"]}
    check_gradients(weighted(forward, "x", d_y), {"x": forward.operands["x"]}, gradients)


def test_swiglu():
    sizes = Sizes(b=1, l=4, d=5)
    forward, backward = float64_sample("swiglu", sizes), float64_sample("swiglu_backward", sizes)
    x, d_g = forward.operands["x"], backward.operands["d_g"]
    found = reference(with_operands(backward, x=x))
    check_gradients(weighted(forward, "g", d_g), {"x": x}, {"x": found["x"]})


@pytest.mark.parametrize("r", [1, 2])
def test_routing(r):
    """Through the softmax over the chosen, as far as the same ones are chosen, and with the load-balancing term."""
    sizes = Sizes(b=1, l=7, r=r, v=6)
    forward, backward = float64_sample("route", sizes), float64_sample("route_backward", sizes)
    logits, targets = forward.operands["logits"], backward.operands["targets"]
    d_gates, pull = backward.operands["d_gates"], backward.operands["pull"]
    routed = reference(forward)

    def loss(inputs: Inputs) -> float:
        gates = reference(with_operands(forward, **inputs))["gates"]
        chances = np.exp(inputs["logits"] - np.logaddexp.reduce(inputs["logits"], axis=1, keepdims=True))
        return float((gates * d_gates).sum() + (chances @ pull)[targets >= 0].sum())

    found = reference(with_operands(backward, **routed, logits=logits))
    check_gradients(loss, {"logits": logits}, {"logits": found["d_logits"]})


def test_balance():
    """`pull` is the slope of the term by the chances of a token, times the scale of gradients."""
    sizes = Sizes(b=1, l=6, v=5, k=3)
    sample = float64_sample("balance", sizes)
    chances = sample.operands["chances"]
    experts = slice(0, chances.shape[1] - 1)

    def loss(inputs: Inputs) -> float:
        whole = chances.copy()
        whole[:, experts] = inputs["chances"]
        return float(reference(with_operands(sample, chances=whole))["loss"][0])

    slope = reference(sample)["pull"] / sample.operands["scalars"][Scalars.GRADIENT_SCALE]
    gradients = {"chances": np.tile(slope, (len(chances), 1))}
    check_gradients(loss, {"chances": chances[:, experts]}, gradients)


def test_products_of_experts():
    sizes = Sizes(b=1, l=6, m=3, d=4, r=2, v=5)
    forward = float64_sample("grouped_nt", sizes)
    a, b, starts = (forward.operands[name] for name in ("a", "b", "starts"))
    d_c = float64_sample("grouped_nt", sizes, seed=1).operands["c"]

    def other(kernel: str, a: np.ndarray, b: np.ndarray, c: np.ndarray, **numbers: float) -> np.ndarray:
        operands = {"a": a, "b": b, "starts": starts, "c": np.zeros_like(c)}
        return reference(Sample(kernel, operands, numbers))["c"]

    gradients = {
        "a": other("grouped_nn", d_c, b, a, alpha=1.0),
        "b": other("grouped_tn", d_c, a, b, alpha=1.0, accumulate=0),
    }
    check_gradients(weighted(forward, "c", d_c), {"a": a, "b": b}, gradients)


def test_routed_swiglu():
    sizes = Sizes(b=1, l=4, d=3, r=2, v=5)
    forward, backward = float64_sample("routed_swiglu", sizes), float64_sample("routed_swiglu_backward", sizes)
    inputs = {name: backward.operands[name] for name in ("joined", "gates")}
    forward = with_operands(forward, order=backward.operands["order"])
    found = reference(backward)
    gradients = {"joined": found["joined"], "gates": found["d_gates"]}
    check_gradients(weighted(forward, "g", backward.operands["d_g"]), inputs, gradients)
    assert np.allclose(found["g"], reference(with_operands(forward, **inputs))["g"])


def test_the_sum_of_a_tokens_rows():
    """Its gradient puts each token's gradient in the places of all its rows: what gathering the sorted tokens does."""
    sizes = Sizes(b=1, l=5, m=3, r=2, v=5)
    forward, grouped = float64_sample("combine", sizes), make_sample("group_rows", sizes)
    found = reference(grouped)
    forward = with_operands(forward, places=found["places"])
    d_y = np.random.default_rng(0).standard_normal(forward.operands["y"].shape)
    gradients = {"rows": forward.numbers["factor"] * d_y[found["tokens"]]}
    check_gradients(weighted(forward, "y", d_y), {"rows": forward.operands["rows"]}, gradients)
