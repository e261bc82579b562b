"""Stations: the settings, the check of the device in use, and a folder that goes away and comes back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from app.tour.hands import StationMissed
from app.values.words import counted
from app.window.pages import REPOSITORY, SETTINGS

if TYPE_CHECKING:
    from app.tour.guide import Tour


def settings(tour: Tour) -> str:
    """Every part of them."""
    page = tour.go_to(SETTINGS)
    for part, button in page.parts.buttons.items():
        tour.hands.click(button)
        tour.hands.until(lambda: not tour.state.checkpoints.busy, "measure what is kept on disk")
        tour.camera.take(f"settings-{part}")
    return counted(len(page.parts.buttons), "part")


def check_device(tour: Tour) -> str:
    """Every kernel on the processor, compared number by number."""
    page, controller = tour.window.page(SETTINGS), tour.state.engine
    pane = page.device_pane
    tour.hands.click(page.parts.buttons["device"])
    tour.hands.click(next(card for card in pane.devices.cards if card.info.name == "cpu"))
    tour.hands.click(pane.check_card.check_button)
    half = len(controller.found.kernels) // 2
    tour.hands.until(
        lambda: not controller.busy or pane.check_card.bar.value() >= half,
        "check half of the kernels",
        pane.check_card.bar.value,
    )
    if controller.busy:
        tour.camera.take("checking")
    tour.hands.until(lambda: not controller.busy, "check every kernel", pane.check_card.bar.value)
    ended = controller.checks.get("cpu")
    tour.camera.take("checked")
    if ended is None:
        raise StationMissed(f"the check broke off: {pane.error_card.cause.text()}")
    if ended.wrong:
        raise StationMissed(f"wrong numbers from {', '.join(check.kernel for check in ended.wrong)}")
    return f"{len(ended.checks)} kernels are right"


def lose_folder(tour: Tour) -> str:
    """The open folder is renamed; the window says so, and finds it again when it is back."""
    page, repository = tour.go_to(REPOSITORY), tour.state.repository
    folder = Path(repository.root)
    away = folder.with_name(f"{folder.name} elsewhere")
    os.rename(folder, away)
    tour.hands.until(
        lambda: repository.phase == "gone" and page.error_card.isVisible(), "notice that the folder is gone"
    )
    tour.camera.take("gone", both=True)
    words = page.error_card.cause.text()
    os.rename(away, folder)
    tour.hands.click(page.error_card.action_button)
    tour.hands.until(lambda: repository.phase == "ready", "find the folder again", lambda: repository.progress)
    return words
