"""Scenes about base models: the offer at the first start, and the list with what this machine would do with each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.values.words import counted
from app.window.pages import REPOSITORY
from tour.simulated_user import SceneFailed

if TYPE_CHECKING:
    from tour.scenes import Tour


def look_at_list(tour: Tour) -> str:
    """From the offer to the list, whose models are measured here; nothing is fetched."""
    offer, speeds = tour.window.page(REPOSITORY).offer, tour.state.base_speeds
    tour.user.click(offer.list_button)
    dialog, estimates = tour.window.base_model_dialog, tour.state.downloads.memory
    tour.user.until(lambda: len(estimates) == len(dialog.cards), "estimate the memory", lambda: len(estimates))
    if tour.size.measures:
        tour.user.until(lambda: speeds.measuring or not speeds.missing, "begin to measure")
        tour.user.until(
            lambda: not speeds.measuring, "measure the base models", lambda: (len(speeds.lines), speeds.progress)
        )
    tour.camera.take_of(dialog, "base-models")
    known = [line for line in speeds.lines.values() if line.speed is not None]
    tour.user.click(dialog.close_button)
    tour.user.until(lambda: not speeds.measuring, "stop measuring")
    return f"{counted(len(dialog.cards), 'model')}, {len(known)} measured"


def decline(tour: Tour) -> str:
    """The offer is gone once it is answered."""
    offer = tour.window.page(REPOSITORY).offer
    tour.user.click(offer.decline_button)
    if offer.isVisible():
        raise SceneFailed("the offer is still there")
    return "not now"
