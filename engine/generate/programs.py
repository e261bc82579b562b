"""The passes of a decoder as programs: the forward pass over some tokens, from a state to a state.

Up to eight tokens go through kernels of their own, which read every weight once for all of them and move the state on
in place; more go through the scan of training, in chunks. Shapes: t tokens of one sequence, residual stream (t, m),
xz (t, 2d), u and y (t, d), history (k-1, d) and state (n, d) of a layer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.devices.interface import Device
from engine.generate.quantised import DecodeWeights
from engine.graph import operations as op
from engine.graph.kernels import FEW_TOKENS, STATE_INTERVAL, TOP
from engine.graph.parameters import Parameter
from engine.graph.tape import Tape
from engine.graph.tensor import READ_BACK, Kind, Program, Slab, Tensor, View
from engine.model.config import ModelConfig

EMBEDDING = "backbone.embeddings.weight"


@dataclass(frozen=True)
class LayerState:
    """history (k-1, d), state (n, d) and coefficients (n+2, d) of one layer."""

    history: View | None
    state: View
    coefficients: View


class DecodeState:
    """Where a decoder's state lives, layer by layer, and the coefficients of the scan, which change with the weights
    only.
    """

    def __init__(self, config: ModelConfig) -> None:
        layers, d, n = config.num_hidden_layers, config.intermediate_size, config.state_size
        self.slab = Slab("decoding state", Kind.DECODE)
        self.history = self.slab.add("history", (layers, config.conv_kernel - 1, d))
        self.state = self.slab.add("state", (layers, n, d))
        self.coefficients = self.slab.add("coefficients", (layers, n + 2, d))

    def of_layer(self, layer: int) -> LayerState:
        """The parts of one layer; no history where the convolution has one tap."""

        def part(tensor: Tensor) -> View:
            _, *shape = tensor.shape
            return tensor.view(layer * math.prod(shape), tuple(shape))

        history = part(self.history) if self.history.size else None
        return LayerState(history, part(self.state), part(self.coefficients))


class Passes:
    """Writes the programs of one decoder."""

    def __init__(self, weights: DecodeWeights, device: Device, state: DecodeState) -> None:
        self._weights, self._device, self._state = weights, device, state
        self._network, self._config = weights.network, weights.network.config

    def coefficients(self) -> Program:
        """The coefficients of every layer's scan from the weights as they are now."""
        tape = Tape("coefficients", self._device)
        for layer in range(self._config.num_hidden_layers):
            A_log, D, dt_bias = (self._own(layer, name).tensor for name in ("A_log", "D", "dt_proj.bias"))
            tape.emit("scan_coefficients", A_log, D, dt_bias, self._state.of_layer(layer).coefficients)
        return tape.program

    def packing(self) -> Program:
        """The copies of the weights in fewer bits."""
        return self._weights.packing_program()

    def read(self, tokens: int, give: str) -> Program:
        """Reads `tokens` ids and gives, of the token after the last one: "nothing", "logits" (1, v) or "top" (the 64
        best, see `top_k`); "each" gives the logits (tokens, v) after each of them.
        """
        tape = Tape(f"reading of {tokens} tokens", self._device)
        x = self._embedded(tape, tape.input("ids", (tokens,), "int32"))
        x = self._layers(tape, x, rows={"nothing": 0, "each": tokens}.get(give, 1))
        if give in ("logits", "each"):
            tape.output("logits", self._logits(tape, x))
        elif give == "top":
            best = tape.output(READ_BACK, tape.new("best", (1, 1 + 2 * TOP), Kind.WORKSPACE))
            tape.emit("top_k", self._logits(tape, x), best)
        return tape.program

    def greedy(self, tokens: int) -> Program:
        """Reads one id and then, `tokens` - 1 times, the best one after it; gives the best ones."""
        tape = Tape(f"decoding of {tokens} tokens", self._device)
        ids = tape.input("ids", (1,), "int32").view()
        chosen = tape.output(READ_BACK, tape.new("chosen", (tokens,), Kind.WORKSPACE, "int32"))
        for number in range(tokens):
            x = self._layers(tape, self._embedded(tape, ids), rows=1)
            ids = chosen.view(number, (1,))
            tape.emit("argmax", self._logits(tape, x), ids)
        return tape.program

    # ---- the forward pass

    def _embedded(self, tape: Tape, ids: Tensor | View) -> Tensor:
        table = self._network.parameters[EMBEDDING]
        x = tape.new("embedded", (ids.shape[0], table.shape[1]))
        for first_row, block in zip(table.first_rows, table.blocks, strict=True):
            tape.emit("embedding_gather", ids, block, x, first_row=first_row)
        return x

    def _layers(self, tape: Tape, x: Tensor, rows: int) -> Tensor:
        """All layers on the residual stream x (t, m); of the last one only the last `rows` rows are wanted."""
        last = self._config.num_hidden_layers - 1
        for layer in range(last + 1):
            x = self._block(tape, layer, x, x.shape[0] if layer < last else rows)
        return x

    def _block(self, tape: Tape, layer: int, x: Tensor, rows: int) -> Tensor:
        """One layer on x (t, m): its state moves on, and the last `rows` rows of its output come out."""
        own = self._state.of_layer(layer)
        normed = self._normed(tape, x, self._network.parameters[f"backbone.layers.{layer}.norm.weight"])
        xz = self._weights.project(tape, layer, "in_proj", normed, "xz")
        d = xz.shape[1] // 2
        u = self._convolved(tape, layer, own, xz)
        y = self._scanned(tape, layer, own, u)
        if rows == 0:
            return x
        first = x.shape[0] - rows
        g = tape.new("gated", (rows, d))
        z = View(xz, first * 2 * d + d, (rows, d), 2 * d)
        tape.emit("gate", y.rows(first, x.shape[0]), z, g)
        return self._weights.project(tape, layer, "out_proj", g, "residual", residual=x.rows(first, x.shape[0]))

    def _normed(self, tape: Tape, x: Tensor, scale: Parameter) -> Tensor:
        y, inverse_rms = tape.new("normed", x.shape), tape.new("inverse_rms", (x.shape[0],))
        tape.emit("rmsnorm", x, scale.tensor, y, inverse_rms, epsilon=self._config.layer_norm_epsilon)
        return y

    def _convolved(self, tape: Tape, layer: int, own: LayerState, xz: Tensor) -> Tensor:
        t, d = xz.shape[0], xz.shape[1] // 2
        weight, bias = self._own(layer, "conv1d.weight"), self._own(layer, "conv1d.bias")
        if t > FEW_TOKENS:
            history = own.history and View(own.history.tensor, own.history.offset, (1, *own.history.shape), d)
            u = op.causal_conv_silu(tape, xz, weight, bias, t, history)
            if own.history is not None:
                tape.emit("carry_history", xz.columns(0, d), own.history)
            return u
        u = tape.new("u", (t, d))
        taps = weight.tensor.view(shape=(d, self._config.conv_kernel))
        bias_tensor = bias.tensor if bias else None
        tape.emit("causal_conv_silu_tokens", xz.columns(0, d), taps, bias_tensor, own.history, u)
        return u

    def _scanned(self, tape: Tape, layer: int, own: LayerState, u: Tensor) -> Tensor:
        (t, d), n, r = u.shape, self._config.state_size, self._config.time_step_rank
        x_dbl, delta, y = tape.new("x_dbl", (t, r + 2 * n)), tape.new("delta", (t, d)), tape.new("y", (t, d))
        for a, name, c in ((u, "x_proj.weight", x_dbl), (x_dbl.columns(0, r), "dt_proj.weight", delta)):
            tape.emit("matmul_nt", a, self._own(layer, name).tensor, c, None, None, alpha=1.0, accumulate=0)
        if t <= FEW_TOKENS:
            tape.emit("selective_scan_tokens", u, delta, x_dbl, own.coefficients, own.state, y, rank=r)
            return y
        states = tape.new("states", (1, math.ceil(t / STATE_INTERVAL) + 1, n, d))
        first, before = states.view(0, (n, d)), View(own.state.tensor, own.state.offset, (1, n, d), d)
        tape.emit("carry_state", before, first)
        elements = self._device.workspace_elements("selective_scan", 1, t, d, n)
        workspace = tape.new("scan_workspace", (elements,), Kind.WORKSPACE) if elements else None
        tape.emit(
            "selective_scan",
            u, delta, x_dbl, own.coefficients, states, y, workspace,
            length=t, rank=r, carry=1,
        )  # fmt: skip
        tape.emit("carry_state", states.view(0, states.shape[1:]), own.state)
        return y

    def _logits(self, tape: Tape, x: Tensor) -> Tensor:
        """The scores (t, v) of the token after each row of x."""
        logits = tape.new("logits", (x.shape[0], self._config.vocab_size), Kind.WORKSPACE)
        self._weights.head(tape, self._normed(tape, x, self._network.parameters["backbone.norm_f.weight"]), logits)
        return logits

    def _own(self, layer: int, name: str) -> Parameter | None:
        return self._network.parameters.get(f"backbone.layers.{layer}.mixer.{name}")
