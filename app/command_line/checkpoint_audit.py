"""`codecoil checkpoints audit`, which is also done before an export: what the weights recite of what they learned."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from app.command_line.checkpoint_words import plain
from app.command_line.chosen_device import open_chosen_device
from app.data.data_folder import data_folder

if TYPE_CHECKING:
    from engine.session.recitation.audit import Audit


def audit_checkpoint(store, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """The JSON and the lines of what was measured; the figures are kept with the checkpoint."""
    found = _measured(store, arguments.id, arguments.device)
    words = list(found.figures.words())
    lines = [line for each in found.lines for line in _shown(each)] if arguments.lines else []
    content = {"recitation": found.figures.to_json(), "words": words}
    if arguments.lines:
        content["lines"] = [vars(each) for each in found.lines]
    return content, [*words, *lines]


def audit_before_export(store, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """The same for an export: what was measured before is used again, and no folder is no reason not to export."""
    from engine.checkpoints.formats.exporting import DEFAULT_PRECISION
    from engine.checkpoints.store.recitation import NOT_MEASURED, recitation_of, rounding_words
    from engine.checkpoints.store.trained_folder import trained_on
    from engine.errors import CodecoilError

    manifest = store.get(arguments.id)
    figures, problem = recitation_of(manifest), ""
    if not trained_on(manifest):
        return {"recitation": None}, []
    if arguments.no_audit:
        problem = "" if figures else NOT_MEASURED
    elif figures is None:
        try:
            figures = _measured(store, manifest.id, arguments.device).figures
        except CodecoilError as error:  # no folder any more, too little memory: the export says so
            problem = f"{NOT_MEASURED} {error.message}"
    content: dict[str, Any] = {"recitation": figures.to_json() if figures else None}
    if problem:
        return content | {"recitation_problem": problem}, [problem]
    exported = arguments.precision or DEFAULT_PRECISION.get(arguments.format, "")
    return content, [*figures.words(), *rounding_words(manifest.precision, exported)]


def _measured(store, id: str, device_name: str) -> Audit:
    from app.command_line.scan import ProgressBar
    from engine.checkpoints.store.loading import opened_checkpoint
    from engine.generate.precision import kept_precision
    from engine.session.recitation.audit import AUDIT_PRECISION, audit

    device, progress = open_chosen_device(device_name), ProgressBar()

    def opened(which: str):
        return opened_checkpoint(store, which, device, kept_precision(AUDIT_PRECISION, store.config(which)))

    try:
        found = audit(store, id, data_folder(), opened, progress=progress)
    finally:
        progress.clear()
        device.close()
    store.keep_recitation(id, found.figures)
    return found


def _shown(line) -> Iterator[str]:
    yield f"  {plain(line.path)}:{line.number}{' (the base, too)' if line.by_base else ''}"
    yield f"    {plain(line.given)} → {plain(line.rest)}"
