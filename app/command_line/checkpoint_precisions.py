"""`codecoil checkpoints show --precisions`: size, error and held-out loss of a checkpoint in each precision."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from app.command_line.held_out import held_out_loss
from app.values.words import nbytes


def precision_rows(store, which: str, repository: str | None) -> list[dict[str, Any]]:
    """One row a precision; with `repository` its held-out loss is measured, else it is None."""
    from engine.checkpoints.combining.precision_table import precision_table

    parameters = store.load_parameters(which)
    if repository is None:
        return [asdict(row) for row in precision_table(parameters)]
    with held_out_loss(store, which, repository) as measure:
        return [asdict(row) for row in precision_table(parameters, evaluate=measure)]


def precision_lines(rows: list[dict[str, Any]]) -> list[str]:
    """The rows as a table."""
    lines = [f"{'stored as':<12}{'size':>12}{'largest error':>16}{'held-out loss':>16}"]
    for row in rows:
        error = "" if row["largest_error"] is None else f"{row['largest_error']:.2e}"
        loss = "not measured" if row["held_out_loss"] is None else f"{row['held_out_loss']:.4f}"
        note = row["problem"] or ("experimental" if row["experimental"] else "")
        lines.append(f"{row['precision']:<12}{nbytes(row['nbytes']):>12}{error:>16}{loss:>16}  {note}".rstrip())
    return lines
