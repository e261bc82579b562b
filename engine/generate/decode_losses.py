"""Held-out losses that were measured at each decoding precision, by checkpoint: one small JSON file.

Nothing is estimated here: what was not measured is not known. A checkpoint never changes, so a loss stays right; it is
replaced when the same checkpoint is measured on other text. Nothing here loads NumPy.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from engine.atomic_file import replace_file

FILE_NAME = "decode_losses.json"
MOST_BYTES = 1 << 20
MOST_CHECKPOINTS = 200  # the ones measured last
MARK_BYTES = 1 << 16


@dataclass(frozen=True)
class DecodeLoss:
    """Mean nats per token over `tokens` tokens of held-out code of the folder `repository`."""

    loss: float
    tokens: int
    repository: str


class DecodeLosses:
    """The losses in a data folder.  Reads the file at every call: another process may have measured meanwhile."""

    def __init__(self, data_folder: Path) -> None:
        self.path = Path(data_folder) / FILE_NAME

    def of(self, checkpoint: str) -> dict[str, DecodeLoss]:
        """By precision, all on the same text; empty where nothing was measured."""
        found = self._read().get(checkpoint, {})
        try:
            return {precision: DecodeLoss(**loss) for precision, loss in found.items()}
        except (AttributeError, TypeError):  # damaged: as if it had never been measured
            return {}

    def keep(self, checkpoint: str, precision: str, loss: DecodeLoss) -> None:
        """Losses of the same checkpoint on other text are dropped: they cannot be compared."""
        content = self._read()
        text = (loss.repository, loss.tokens)
        same = {name: asdict(one) for name, one in self.of(checkpoint).items() if (one.repository, one.tokens) == text}
        content.pop(checkpoint, None)
        content[checkpoint] = same | {precision: asdict(loss)}
        kept = dict(list(content.items())[-MOST_CHECKPOINTS:])
        replace_file(self.path, json.dumps(kept, indent=1))

    def _read(self) -> dict[str, Any]:
        try:
            with open(self.path, "rb") as file:
                content = json.loads(file.read(MOST_BYTES))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError):  # damaged: measured again on request
            return {}
        return content if isinstance(content, dict) else {}


@cache
def built_in_key(folder: Path) -> str:
    """The key of the built-in model, which has no id: a new version of the program may bring another one."""
    with open(folder / "model.safetensors", "rb") as file:
        file.seek(max(0, file.seek(0, 2) - MARK_BYTES))
        return f"built-in {hashlib.sha256(file.read()).hexdigest()[:16]}"
