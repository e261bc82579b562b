"""Scenes on the Settings page: every section, and the check of the device in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.values.words import counted
from app.window.pages import SETTINGS
from tour.simulated_user import SceneFailed

if TYPE_CHECKING:
    from tour.scenes import Tour


def settings(tour: Tour) -> str:
    """Every section of the settings."""
    page = tour.go_to(SETTINGS)
    for part, button in page.parts.buttons.items():
        tour.user.click(button)
        tour.user.until(lambda: not tour.state.checkpoints.busy, "measure what is on disk")
        tour.camera.take(f"settings-{part}")
    return counted(len(page.parts.buttons), "section")


def check_device(tour: Tour) -> str:
    """Every kernel on the CPU, compared number by number."""
    page, controller = tour.window.page(SETTINGS), tour.state.engine
    pane = page.device_pane
    tour.user.click(page.parts.buttons["device"])
    tour.user.click(next(card for card in pane.devices.cards if card.info.name == "cpu"))
    tour.user.click(pane.check_card.check_button)
    half = len(controller.found.kernels) // 2
    tour.user.until(
        lambda: not controller.busy or pane.check_card.bar.value() >= half,
        "check half of the kernels",
        pane.check_card.bar.value,
    )
    if controller.busy:
        tour.camera.take("checking")
    tour.user.until(lambda: not controller.busy, "check every kernel", pane.check_card.bar.value)
    ended = controller.checks.get("cpu")
    tour.camera.take("checked")
    if ended is None:
        raise SceneFailed(f"the check was aborted: {pane.error_card.cause.text()}")
    if ended.wrong:
        raise SceneFailed(f"wrong numbers from {', '.join(check.kernel for check in ended.wrong)}")
    return f"{len(ended.checks)} kernels are right"
