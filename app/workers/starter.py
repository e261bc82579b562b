"""The built-in model, where there is one."""

from __future__ import annotations

from pathlib import Path


def starter_folder() -> Path | None:
    """The folder of the built-in model; None where this program was built without one."""
    from engine.model.starter import starter_folder as place

    folder = place()
    return folder if (folder / "model.safetensors").is_file() else None


def starter_tokenizer() -> Path | None:
    """Its tokenizer.json."""
    folder = starter_folder()
    return folder / "tokenizer.json" if folder is not None else None
