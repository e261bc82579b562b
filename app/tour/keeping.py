"""Stations: what a blend would be worth, the checkpoints, how far two are apart, and a way back from the trash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.tour.camera import LARGE
from app.tour.hands import StationMissed
from app.values.words import counted
from app.window.checkpoints.table_model import NAME
from app.window.pages import CHECKPOINTS

if TYPE_CHECKING:
    from app.tour.guide import Tour


def try_merge(tour: Tour) -> str:
    """What a blend of a checkpoint and the model it was made from would be worth; nothing is saved."""
    page = tour.go_to(CHECKPOINTS)
    merge = page.detail.merge
    _choose(tour, tour.seen.checkpoints[0])
    tour.hands.click(page.buttons["compare"])
    tour.hands.click(page.buttons["merge"])
    tour.hands.click(merge.try_button)
    tour.hands.until(
        lambda: merge.weight in merge.tried,
        "measure the blend",
        lambda: tour.state.checkpoints.progress,
        lambda: _refused(tour),
    )
    tour.camera.take("merge")
    losses = ", ".join(f"{merge.tried[weight]:.3f}" for weight in sorted(merge.tried))
    tour.hands.click(merge.close_button)
    return f"losses {losses}"


def look(tour: Tour) -> str:
    """The list, and all about one of them."""
    page, made = tour.go_to(CHECKPOINTS), tour.seen.checkpoints
    _choose(tour, made[0])
    tour.hands.until(lambda: page.detail.model_card.details is not None, "read a checkpoint")
    tour.hands.until(lambda: page.detail.curves is not None and not tour.state.checkpoints.busy, "draw its curve")
    tour.camera.take("checkpoints", both=True)
    tour.camera.take_in(LARGE, "checkpoints")
    return counted(len(tour.state.checkpoints.rows), "checkpoint")


def compare(tour: Tour) -> str:
    """Layer by layer, how far two are apart."""
    page = tour.window.page(CHECKPOINTS)
    _choose(tour, *tour.seen.checkpoints)
    if len(tour.seen.checkpoints) < 2:
        tour.hands.click(page.buttons["compare"])
    drift = page.detail.drift
    tour.hands.until(lambda: drift.compared is not None, "compare two", broken=lambda: _refused(tour))
    tour.hands.until(lambda: not tour.state.checkpoints.busy, "draw both curves")
    tour.camera.take("drift", both=True)
    return drift.words.text()


def delete_and_undo(tour: Tour) -> str:
    """To the trash, and back."""
    page, last = tour.window.page(CHECKPOINTS), tour.seen.checkpoints[-1]
    checkpoints = tour.state.checkpoints
    _choose(tour, last)
    tour.hands.click(page.buttons["delete"])
    tour.hands.until(lambda: checkpoints.row(last) is None, "delete a checkpoint", broken=lambda: _refused(tour))
    tour.hands.until(lambda: page.notices.can_undo, "offer to undo")
    tour.camera.take("trash")
    words = page.notices.message.words.text()
    tour.hands.click(page.notices.button)
    tour.hands.until(lambda: checkpoints.row(last) is not None, "bring it back", broken=lambda: _refused(tour))
    return words


def _choose(tour: Tour, *ids: str) -> None:
    """Press these rows, the second with Ctrl."""
    page = tour.window.page(CHECKPOINTS)
    view = page.table
    tour.hands.until(lambda: all(view.table.row_of(id) >= 0 for id in ids), "list the checkpoints")
    for place, id in enumerate(ids):
        tour.hands.click_row(view, view.table.index(view.table.row_of(id), NAME), control=place > 0)
    if [row.id for row in page.chosen] != [row.id for row in view.table.shown if row.id in ids]:
        raise StationMissed("the checkpoints could not be selected")


def _refused(tour: Tour) -> str:
    """What went wrong on the page, if anything did."""
    card = tour.window.page(CHECKPOINTS).error_card
    return card.cause.text() if card.isVisible() else ""
