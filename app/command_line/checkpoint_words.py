"""Checkpoints as lines for people and as values for JSON.  Loads no engine."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from app.values.words import nbytes

LOSS = "held_out_loss"
KIND = {"whole": "full model", "delta": "delta"}
MOST_TENSORS = 10  # that a comparison shows; the JSON has them all


def plain(text: str) -> str:
    """Text that is safe to print: unprintable characters are escaped, so that none can control the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def as_json(manifest) -> dict[str, Any]:
    """A manifest, with its size."""
    return {**dataclasses.asdict(manifest), "bytes": manifest.nbytes}


def finite(value: Any) -> Any:
    """The same value with None for NaN and infinity, which JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    return [finite(inner) for inner in value] if isinstance(value, list | tuple) else value


def listing(found: list, unreadable: list, use) -> list[str]:
    """A line for each, and what the disk holds."""
    lines = [
        f"{one.id[:8]}  {one.created[:16].replace('T', ' ')}  {one.mode:<10}  {_loss(one):>8}  {nbytes(one.nbytes):>9}"
        f"  {'*' if one.pinned else ' '} {plain(one.name)}"
        for one in found
    ]
    if lines:
        lines.insert(0, f"{'id':<8}  {'created':<16}  {'mode':<10}  {'held out':>8}  {'size':>9}    name")
    elif not unreadable:
        lines.append("No checkpoints yet. `codecoil train FOLDER` creates one.")
    for one in unreadable:
        what = "made by a newer version" if one.newer else "unreadable"
        lines.append(f"{plain(one.id)[:8]:<8}  {what}: {plain(one.reason)}")
    lines.append(
        f"{len(found)} checkpoint{'s' * (len(found) != 1)}, {nbytes(use.checkpoints)};"
        f" trash {nbytes(use.trash)}; {nbytes(use.free)} free."
    )
    return lines


def details(manifest, dependants: list, runs: list[str], folder: str) -> list[str]:
    """Everything about one checkpoint."""
    rows = [
        ("id", manifest.id),
        ("created", manifest.created),
        ("kind", f"{KIND[manifest.kind]}, {manifest.mode}, {manifest.precision}"),
        ("size", f"{nbytes(manifest.nbytes)} in {len(manifest.files)} files"),
        ("run", manifest.run),
        ("step", str(manifest.step or "")),
        ("base", f"{manifest.base.id} (weights {manifest.base.sha256[:12]}…)" if manifest.base else ""),
        ("parents", ", ".join(manifest.parents)),
        ("needed by", ", ".join([*(one.name for one in dependants), *(f"unfinished run {run}" for run in runs)])),
        ("tags", ", ".join(manifest.tags)),
        ("pinned", "yes" if manifest.pinned else ""),
        ("folder", folder),
        *((key, f"{value:.6g}") for key, value in sorted(manifest.metrics.items())),
        *((key, str(value)) for key, value in sorted(manifest.options.items())),
        *(("note", line) for line in manifest.note.splitlines()),
    ]
    return [plain(manifest.name), *(f"  {key:<14} {plain(value)}" for key, value in rows if value)]


def comparison_lines(found) -> list[str]:
    """The whole, the layers, the tensors that moved most, and what differs beside the weights."""
    head = f"{'':<44}{'cosine':>10}{'rel. L2':>12}{'largest':>12}{'changed':>9}"
    lines = [head, _drift("whole model", found.whole)]
    lines += [_drift(f"layer {layer}", drift) for layer, drift in found.layers.items()]
    moved = [tensor for tensor in found.tensors if tensor.drift.changed]
    moved.sort(key=lambda tensor: -tensor.drift.relative_l2)
    lines += [_drift(_tensor(tensor), tensor.drift) for tensor in moved[:MOST_TENSORS]]
    if len(moved) > MOST_TENSORS:
        lines.append(f"and {len(moved) - MOST_TENSORS} more tensors that differ (--json lists them all)")
    for what, differences in (("option", found.options), ("metric", found.metrics)):
        lines += [
            f"{what} {plain(one.name)}: {plain(str(one.first))} | {plain(str(one.second))}" for one in differences
        ]
    return lines


def merge_lines(child, blend, losses: dict[str, float | None], measured: bool, saved: str) -> list[str]:
    """The losses side by side, before the line that says what was saved."""
    shown = {name: "unknown" if loss is None else f"{loss:.4f}" for name, loss in losses.items()}
    weights = sorted({round(weight, 4) for weight in (*blend.layers, blend.outside)})
    share = f"{weights[0]:g}" if len(weights) == 1 else f"{weights[0]:g} to {weights[-1]:g} by layer"
    lines = [
        f"held-out loss: first {shown['first']}, second {shown['second']}, merged {shown['child']}",
        f"share of the second: {share}",
    ]
    if not measured:
        lines.append("The result was not measured; name a folder of source code with --repository to measure it.")
    return [*lines, saved if child is None else f"{saved}: {child.id[:8]}  {plain(child.name)}"]


def exported_lines(done) -> list[str]:
    kind = f"{done.format}, {done.precision}" if done.precision else done.format
    return [f"Wrote {plain(str(done.path))} ({kind}, {nbytes(done.nbytes)}).", *(f"  {note}" for note in done.notes)]


def trash_lines(items: list, size: int, freed: int | None) -> list[str]:
    lines = [] if freed is None else [f"Freed {nbytes(freed)}."]
    lines += [f"{one.id[:8]}  deleted {one.deleted[:16].replace('T', ' ')}  {plain(one.name)}" for one in items]
    return [*lines, f"{len(items)} in the trash, {nbytes(size)}."]


def precision_lines(rows: list[dict[str, Any]]) -> list[str]:
    """Size, error and loss in each precision, as a table."""
    lines = [f"{'precision':<12}{'size':>12}{'largest error':>16}{'held-out loss':>16}"]
    for row in rows:
        error = "" if row["largest_error"] is None else f"{row['largest_error']:.2e}"
        loss = "not measured" if row["held_out_loss"] is None else f"{row['held_out_loss']:.4f}"
        note = row["problem"] or ("experimental" if row["experimental"] else "")
        lines.append(f"{row['precision']:<12}{nbytes(row['nbytes']):>12}{error:>16}{loss:>16}  {note}".rstrip())
    return lines


def _loss(manifest) -> str:
    return f"{manifest.metrics[LOSS]:.4f}" if LOSS in manifest.metrics else ""


def _tensor(tensor) -> str:
    return tensor.name if tensor.layer is None else f"layer {tensor.layer} {tensor.kind}"


def _drift(name: str, drift) -> str:
    return (
        f"{name:<44}{drift.cosine:>10.6f}{drift.relative_l2:>12.3e}{drift.largest_change:>12.3e}"
        f"{100 * drift.changed_share:>8.1f}%"
    )
