"""The model card: what is known about a checkpoint, as a page for a person.

Only facts from the manifest and the configuration: the base, the data by language and size (never a file's content or
name), options, scores. Names, notes and tags can change later, so an export writes a new card.
"""

from __future__ import annotations

from typing import Any

from engine.checkpoints.store import ROOT
from engine.checkpoints.store.manifest import Manifest
from engine.checkpoints.store.recitation import RECITATION, recitation_words
from engine.checkpoints.store.trained_folder import folder_name, trained_on
from engine.model.architectures.architecture import Architecture
from engine.model.modes import ADAPTER_MODES
from engine.model.storage import PRECISIONS

KIND_WORDS = {"whole": "full model", "delta": "delta"}
MODE_WORDS = {
    "base": "a base model",
    "full": "all parameters trained",
    "wsla": "the rows of B and C trained (WSLA)",
    "qk": "the projections of queries and keys trained",
    "lora": "low-rank adapters trained on the projections (LoRA)",
    "vocabulary": "low-rank adapters and the embedding rows of the repository's tokens trained",
    "merge": "a merge of other checkpoints",
    "import": "imported",
}
NO_MEMORY = "The memory of the repository is not part of this model, nor of any export."
MAX_VALUE = 200


def model_card(manifest: Manifest, config: Architecture, base: Manifest | None = None, exported: str = "") -> str:
    """The card of a checkpoint in markdown; `base` is its base, if that is known.

    `exported`: the precision of the export that it is for, if that has one of its own.
    """
    rows = [
        ("kind", f"{KIND_WORDS[manifest.kind]}, {MODE_WORDS[manifest.mode]}"),
        ("created", manifest.created),
        ("precision", manifest.precision),
        ("trained over", _trained_over(manifest)),
        ("not trained", _not_trained(manifest, config)),
        ("architecture", f"{config.label}, causal language model"),
        ("parameters", f"{config.parameter_count:,}"),
        ("layers × width", f"{config.num_hidden_layers} × {config.hidden_size}"),
        ("vocabulary", f"{config.vocab_size:,}"),
        ("run", manifest.run),
        ("step", str(manifest.step) if manifest.step else ""),
        ("id", manifest.id),
    ]
    if manifest.base is not None:
        rows.append(("base", f"{base.name if base else manifest.base.id} (weights sha256 {manifest.base.sha256})"))
    if manifest.parents:
        rows.append(("parents", ", ".join(manifest.parents)))
    sections = [f"# {escaped(manifest.name)}", "Made with Codecoil on the user's own machine.", _table("", rows)]
    sections += [f"> {line}" for line in [escaped(manifest.note).replace("\n", " ")] if line]
    sections += [
        _table("Scores", [(key, f"{value:.6g}") for key, value in sorted(manifest.metrics.items())]),
        _recited(manifest, exported),
        _table("Data", _flat(_data(manifest))),
        _table("Options", _flat(manifest.options)),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _trained_over(manifest: Manifest) -> str:
    """What low-rank pairs or rows were trained over, where that is not quite the base that they are applied to."""
    kept = manifest.options.get("base_precision")
    if manifest.kind != "delta" or kept not in PRECISIONS or kept == "float32":
        return ""
    return f"its base kept in {kept}; loading applies the changes to the base as it is stored"


def _recited(manifest: Manifest, exported: str) -> str:
    words = recitation_words(manifest, exported)
    return "\n\n".join(("## What the weights recite", *words, NO_MEMORY)) if words else ""


def _data(manifest: Manifest) -> dict[str, Any]:
    """Without the figures that have words of their own, and of the folder only its name."""
    data = {key: value for key, value in manifest.data.items() if key != RECITATION}
    data.pop(ROOT, None)
    return {"folder": folder_name(root), **data} if (root := trained_on(manifest)) else data


def _not_trained(manifest: Manifest, config: Architecture) -> str:
    """What a reader would expect low-rank pairs on, and find none."""
    if not config.experts or manifest.mode not in ADAPTER_MODES:
        return ""
    return "the experts: low-rank pairs are on the projections that every token passes"


def _flat(content: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Nested values as rows: "languages / python / bytes"."""
    rows: list[tuple[str, str]] = []
    for key, value in content.items():
        name = f"{prefix} / {key}" if prefix else str(key)
        if isinstance(value, dict):
            rows += _flat(value, name)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            rows.append((name, str(value)))
        else:
            rows.append((name, f"{value:,}" if isinstance(value, int) else f"{value:.6g}"))
    return rows


def _table(title: str, rows: list[tuple[str, str]]) -> str:
    rows = [(key, value) for key, value in rows if value]
    if not rows:
        return ""
    lines = ["| | |", "|---|---|", *(f"| {escaped(key)} | {escaped(value)} |" for key, value in rows)]
    return "\n".join([f"## {title}\n", *lines] if title else lines)


def escaped(text: str) -> str:
    """Text with all markup, cell and line breaks escaped."""
    text = text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"
    for character in "\\`*_[]<>|#":
        text = text.replace(character, f"\\{character}")
    return text.replace("\r", " ").replace("\n", " ")
