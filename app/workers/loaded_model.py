"""One model on the device, with its completer; or a blend of two whose weight can be changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from app.values.completion import STARTER

if TYPE_CHECKING:
    import numpy as np


class LoadedModel:
    """A model with its tokenizer; the completer is made when it is first needed."""

    def __init__(self, model, tokenizer, owned: bool = True, sides: tuple[Mapping, Mapping] | None = None) -> None:
        """`owned`: closed with this.  `sides`: the parameters in which two models differ, for a blend."""
        self.model, self.tokenizer = model, tokenizer
        self._owned, self._sides = owned, sides
        self._weight = 0.0
        self._precision = "float32"  # of a model in training: its own weights, which change with every step
        self._completer = None
        self.stale = False  # the weights have changed since the completer last read them

    @property
    def completer(self):
        """Up to date with the present weights."""
        if self._completer is None:
            from engine.generate.completer import Completer

            self._completer = Completer(self.model, self.tokenizer, precision=self._precision)
        elif self.stale:
            self._completer.weights_changed()
        self.stale = False
        return self._completer

    def decode_at(self, wanted: str) -> None:
        """Read the weights in this precision from now on: "auto", or one of the engine's."""
        from engine.generate.precision import decode_precision

        precision = decode_precision(wanted, self.model) if self._owned else "float32"
        if precision != self._precision:
            self.completer_gone()
            self._precision = precision

    def remember(self, snapshot) -> bool:
        """Complete with this memory (or None) from now on; False if it belongs to another tokenizer."""
        if snapshot is not None and snapshot.tokenizer.digest != self.tokenizer.digest:
            snapshot = None
        if snapshot is not None:
            self.completer.memory = snapshot
        elif self._completer is not None:
            self._completer.memory = None
        return snapshot is not None

    def blend(self, weight: float) -> None:
        """Change the second's weight in the blend; writes only the parameters that differ."""
        from engine.checkpoints.combining.merge import blend_arrays

        if self._sides is None or weight == self._weight:
            return
        first, second = self._sides
        for name in first:
            self.model.parameters[name] = blend_arrays(first[name], second[name], weight)
        self._weight, self.stale = weight, True

    def completer_gone(self) -> None:
        """Close the completer, and leave the model to its owner."""
        if self._completer is not None:
            self._completer.close()
            self._completer = None

    def close(self) -> None:
        self.completer_gone()
        if self._owned:
            self.model.close()


def load_one(store, device, id: str, precision: str = "float32") -> LoadedModel:
    """The built-in model or a checkpoint, whose large matrices are kept in `precision`."""
    if id == STARTER:
        from engine.corpus.tokens.tokenizer import Tokenizer
        from engine.model.starter import load_starter, starter_folder

        return LoadedModel(load_starter(device), Tokenizer.load(starter_folder()))
    from engine.checkpoints.store.loading import load_checkpoint

    return LoadedModel(*load_checkpoint(store, id, device, precision))


def load_blend(store, device, first: str, second: str, precision: str = "float32") -> LoadedModel:
    """The first, with the differing parameters of both kept beside it."""
    from engine.checkpoints.combining.sides import refuse_unlike

    loaded = load_one(store, device, first, precision)
    try:
        a, b = _Side.of(store, first), _Side.of(store, second)
        if first != STARTER and second != STARTER:
            from engine.checkpoints.combining.sides import side_of
            from engine.corpus.tokens.tokenizer import Tokenizer

            refuse_unlike(side_of(store, first), side_of(store, second), "blended")
            if loaded.tokenizer.has_taught_fim and not Tokenizer.load(store.tokenizer_path(second)).has_taught_fim:
                loaded.tokenizer = loaded.tokenizer.without_taught_fim()
        loaded._sides = _differing(a, b)
    except BaseException:
        loaded.close()
        raise
    return loaded


class _Side:
    """The parameters of the built-in model or of a checkpoint, on the host."""

    @staticmethod
    def of(store, id: str) -> Mapping[str, np.ndarray]:
        if id != STARTER:
            return store.load_parameters(id)
        from engine.model import files
        from engine.model.starter import starter_folder

        folder = starter_folder()
        return files.FolderParameters(folder, files.read_config(folder))


def _differing(first: Mapping, second: Mapping) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Copies of the parameters in which two models differ."""
    import numpy as np

    from engine.errors import CheckpointError
    from engine.tensor_file import as_float32

    if list(first) != list(second):
        raise CheckpointError("These two models cannot be blended: their architectures differ.", "Choose other models.")
    names = []
    for name in first:
        a, b = first[name], second[name]
        if a.shape != b.shape:
            raise CheckpointError(
                f"These two models cannot be blended: {name} is {a.shape} in one and {b.shape} in the other.",
                "Choose two models with the same base.",
            )
        if not np.array_equal(as_float32(a), as_float32(b)):
            names.append(name)
    return {name: np.array(as_float32(first[name])) for name in names}, {
        name: np.array(as_float32(second[name])) for name in names
    }
