"""The attention block of a dense decoder: causal, with grouped key heads and rotary positions where the model has them.

    norm ─▶ q, k, v ─▶ (norm of each head) ─▶ rotation ─▶ attention ─▶ o ─▶ +

Shapes: t tokens, m model width, h heads, g key heads, e channels of a head; q (t, h*e), k and v (t, g*e).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.graph import dense
from engine.graph import operations as op
from engine.graph.tensor import Tensor, View, view_of
from engine.model.blocks.block import CACHE, Block, BlockPass, ParameterSpec, StateSpec, normal, ones, times, zeros

FIRST = 0.02  # deviation of first weights
NORM = "input_layernorm.weight"


@dataclass(frozen=True)
class Attention(Block):
    """`scale`: of the scores; `residual`: what the block's output is multiplied by before it is added; `pairs`: GGUF
    stores q and k for rotations of neighbours, not of halves; `input_factor` and `key_factor`: of what is projected,
    and of the keys besides; `folded`: a GGUF file holds weights that are multiplied by all factors.
    """

    m: int
    h: int
    g: int
    e: int
    epsilon: float
    scale: float
    residual: float = 1.0
    bias: bool = False
    output_bias: bool = False
    head_norm: bool = False
    rotates: bool = True
    pairs: bool = False
    input_factor: float = 1.0
    key_factor: float = 1.0
    folded: bool = False

    def parameters(self) -> tuple[ParameterSpec, ...]:
        norm = ParameterSpec(NORM, (self.m,), ones, decays=False, gguf="attn_norm.weight", label="norm")
        return (norm, *self.own_parameters())

    def own_parameters(self) -> tuple[ParameterSpec, ...]:
        """All but the norm, which another block may share."""
        m, e = self.m, self.e
        specs: list[ParameterSpec] = []
        for name, heads, modes, label in (
            ("q", self.h, {"qk": (0, self.h * e)}, "queries"),
            ("k", self.g, {"qk": (0, self.g * e)}, "keys"),
            ("v", self.g, {}, "values"),
        ):
            factor = self.input_factor * (self.key_factor if name == "k" else 1.0)
            to_gguf, from_gguf = times(factor, self.folded), None
            if self.pairs and name != "v":
                to_gguf, from_gguf = _turned(heads, e)
            specs.append(
                ParameterSpec(
                    f"self_attn.{name}_proj.weight", (heads * e, m), normal(FIRST), packs=True, adapted=True,
                    trained_by=modes, gguf=f"attn_{name}.weight", to_gguf=to_gguf, from_gguf=from_gguf,
                    label=label, short=name,
                )
            )  # fmt: skip
            if self.bias:
                specs.append(
                    ParameterSpec(
                        f"self_attn.{name}_proj.bias", (heads * e,), zeros, decays=False, gguf=f"attn_{name}.bias",
                        to_gguf=to_gguf, from_gguf=from_gguf, label=f"{label} bias", short="bias",
                    )
                )  # fmt: skip
        specs.append(
            ParameterSpec(
                "self_attn.o_proj.weight", (m, self.h * e), normal(FIRST), packs=True, adapted=True,
                gguf="attn_output.weight", to_gguf=times(self.residual, self.folded), label="output", short="o",
            )
        )  # fmt: skip
        if self.output_bias:
            specs.append(ParameterSpec("self_attn.o_proj.bias", (m,), zeros, decays=False, label="output bias"))
        if self.head_norm:
            specs += [
                ParameterSpec(
                    f"self_attn.{name}_norm.weight", (e,), ones, decays=False, gguf=f"attn_{name}_norm.weight",
                    label=f"norm of {label}", short="norm",
                )
                for name, label in (("q", "queries"), ("k", "keys"))
            ]  # fmt: skip
        return tuple(specs)

    def states(self) -> tuple[StateSpec, ...]:
        return tuple(StateSpec(name, (self.g * self.e,), CACHE, "float16") for name in ("keys", "values"))

    @property
    def attends(self) -> bool:
        return True

    def forward(self, at: BlockPass, x: Tensor) -> Tensor:
        return self.mix(at, op.rmsnorm(at.tape, x, at.parameter(NORM), self.epsilon), x)

    def mix(self, at: BlockPass, normed: Tensor, x: Tensor) -> Tensor:
        """x plus what it makes of the norm of its input; x may have the last rows only, where no more are wanted."""
        tape, t = at.tape, normed.shape[0]
        asked = t if at.rows is None else max(at.rows, 1)  # with none asked, one keeps the kernels simple
        last: Tensor | View = normed if asked == t else normed.rows(t - asked, t)
        q = self._heads(at, last, "q", self.h, self.input_factor)
        k = self._heads(at, normed, "k", self.g, self.input_factor * self.key_factor)
        v = op.linear(tape, normed, at.projection("self_attn.v_proj", self.input_factor), name="v")
        cache = dense.Cache(at.state["keys"], at.state["values"]) if at.decoding else None
        shape = dense.AttentionShape(self.h, self.g, self.e, self.scale)
        rotations = at.rotations if self.rotates else None
        y = dense.attend(tape, q, k, v, shape, view_of(at.reach), rotations, at.length, cache)
        if at.rows == 0:
            return x
        residual = x if asked == x.shape[0] else x.rows(t - asked, t)
        return dense.output_projection(tape, y, at.projection("self_attn.o_proj", self.residual), residual)

    def _heads(self, at: BlockPass, x: Tensor | View, name: str, heads: int, factor: float) -> Tensor:
        projected = op.linear(at.tape, x, at.projection(f"self_attn.{name}_proj", factor), name=name, heads=heads)
        if not self.head_norm:
            return projected
        return op.rmsnorm(at.tape, projected, at.parameter(f"self_attn.{name}_norm.weight"), self.epsilon)


def _turned(heads: int, e: int):
    """Rows of a weight or bias from halves (as Hugging Face has them) to neighbours (as GGUF has them), and back."""

    def to_gguf(w):
        return w.reshape(heads, 2, e // 2, -1).swapaxes(1, 2).reshape(w.shape)

    def from_gguf(w):
        return w.reshape(heads, e // 2, 2, -1).swapaxes(1, 2).reshape(w.shape)

    return to_gguf, from_gguf
