"""Scenes on the Checkpoints page: a merge, the list, two compared, one deleted and restored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.values.words import counted
from app.window.checkpoints.table_model import NAME
from app.window.pages import CHECKPOINTS
from tour.camera import LARGE
from tour.simulated_user import SceneFailed

if TYPE_CHECKING:
    from tour.scenes import Tour


def try_merge(tour: Tour) -> str:
    """Measure a merge of a checkpoint with the model it was trained from; nothing is saved."""
    page = tour.go_to(CHECKPOINTS)
    merge = page.detail.merge
    _choose(tour, tour.seen.checkpoints[0])
    tour.user.click(page.buttons["compare"])
    tour.user.click(page.buttons["merge"])
    tour.user.click(merge.try_button)
    tour.user.until(
        lambda: merge.weight in merge.tried,
        "measure the merge",
        lambda: tour.state.checkpoints.progress,
        lambda: _error(tour),
    )
    tour.camera.take("merge")
    losses = ", ".join(f"{merge.tried[weight]:.3f}" for weight in sorted(merge.tried))
    tour.user.click(merge.close_button)
    return f"losses {losses}"


def look(tour: Tour) -> str:
    """The list, and the details of one checkpoint."""
    page, made = tour.go_to(CHECKPOINTS), tour.seen.checkpoints
    _choose(tour, made[0])
    tour.user.until(lambda: page.detail.model_card.details is not None, "load the details of a checkpoint")
    tour.user.until(lambda: page.detail.curves is not None and not tour.state.checkpoints.busy, "draw its curve")
    tour.camera.take("checkpoints", both=True)
    tour.camera.take_in(LARGE, "checkpoints")
    return counted(len(tour.state.checkpoints.rows), "checkpoint")


def compare(tour: Tour) -> str:
    """How far apart two checkpoints are, layer by layer."""
    page = tour.window.page(CHECKPOINTS)
    _choose(tour, *tour.seen.checkpoints)
    if len(tour.seen.checkpoints) < 2:
        tour.user.click(page.buttons["compare"])
    drift = page.detail.drift
    tour.user.until(lambda: drift.compared is not None, "compare two checkpoints", broken=lambda: _error(tour))
    tour.user.until(lambda: not tour.state.checkpoints.busy, "draw both curves")
    tour.camera.take("drift", both=True)
    return drift.words.text()


def delete_and_undo(tour: Tour) -> str:
    """Delete a checkpoint and undo it."""
    page, last = tour.window.page(CHECKPOINTS), tour.seen.checkpoints[-1]
    checkpoints = tour.state.checkpoints
    _choose(tour, last)
    tour.user.click(page.buttons["delete"])
    tour.user.until(lambda: checkpoints.row(last) is None, "delete a checkpoint", broken=lambda: _error(tour))
    tour.user.until(lambda: page.notices.can_undo, "offer to undo")
    tour.camera.take("trash")
    words = page.notices.message.words.text()
    tour.user.click(page.notices.button)
    tour.user.until(lambda: checkpoints.row(last) is not None, "restore it", broken=lambda: _error(tour))
    return words


def _choose(tour: Tour, *ids: str) -> None:
    """Click these rows, all but the first with Ctrl."""
    page = tour.window.page(CHECKPOINTS)
    view = page.table
    tour.user.until(lambda: all(view.table.row_of(id) >= 0 for id in ids), "list the checkpoints")
    for place, id in enumerate(ids):
        tour.user.click_row(view, view.table.index(view.table.row_of(id), NAME), control=place > 0)
    if [row.id for row in page.chosen] != [row.id for row in view.table.shown if row.id in ids]:
        raise SceneFailed("the checkpoints could not be selected")


def _error(tour: Tour) -> str:
    """The error that the page shows, if any."""
    card = tour.window.page(CHECKPOINTS).error_card
    return card.cause.text() if card.isVisible() else ""
