"""`codecoil tour`: drives the real window with the real engine and saves a picture of every station, dark and light.

Offscreen where there is no screen.  It keeps its own settings in a temporary folder: the user's are neither read nor
changed.  Not a test: it looks at what a person would see, and fails only if a station cannot be reached.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from app.command_line import FAILED
from app.display import display_problem

PATIENCE = 50  # seconds for one station
NO_SUCH_DEVICE = "webgpu:99"


class StationMissed(Exception):
    """The window did not get where the tour wanted it."""


def run(arguments: argparse.Namespace) -> int:
    """Take the tour; 0 if every station was reached and every check passed."""
    if display_problem():
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        quiet_offscreen()
    out = Path(arguments.out).expanduser().absolute()
    out.mkdir(parents=True, exist_ok=True)

    from app.desktop import open_desktop

    with tempfile.TemporaryDirectory(prefix="codecoil-tour-") as folder:
        desktop = open_desktop(Path(folder))
        tour = Tour(desktop, out)
        try:
            tour.take()
        except StationMissed as missed:
            tour.problems.append(str(missed))
        finally:
            desktop.close()
    print(f"{len(tour.pictures)} pictures in {out}")
    for problem in tour.problems:
        print(f"codecoil: {problem}", file=sys.stderr)
    return FAILED if tour.problems else 0


def quiet_offscreen() -> None:
    """Qt's offscreen plugin says of every window manager's job that it does not do it; nobody needs to read that."""
    from PySide6.QtCore import qInstallMessageHandler

    def handler(_kind, _context, message: str) -> None:
        if not message.startswith("This plugin does not support"):
            print(message, file=sys.stderr)

    qInstallMessageHandler(handler)


class Tour:
    """The stations, one after the other."""

    def __init__(self, desktop, out: Path) -> None:
        self.desktop = desktop
        self.out = out
        self.pictures: list[Path] = []
        self.problems: list[str] = []

    def take(self) -> None:
        """From the first sight of the window to a device that is not there."""
        window, controller = self.desktop.window, self.desktop.controller
        window.resize(1280, 800)
        self._until(lambda: not controller.busy, "find the devices")
        self._picture("start")
        self._repository()
        self._settings()
        window.show_page("Settings")
        pane = window.page("Settings").device_pane
        if controller.found is None:
            raise StationMissed(f"The engine could not be loaded: {pane.error_card.cause.text()}")
        self._picture("devices")
        software = [info.name for info in controller.found.devices if info.kind == "software"]
        for name in ["cpu", *software[:1]]:
            self._check(pane, name)
        controller.check(NO_SUCH_DEVICE)
        self._until(lambda: pane.error_card.isVisible(), "show an error")
        pane.error_card.fold.setChecked(True)
        self._picture("error")
        pane.error_card.dismiss_button.click()

    def _repository(self) -> None:
        """The sample project, where this build has it: its files, its secrets, and the page in two other sizes."""
        window, repository = self.desktop.window, self.desktop.state.repository
        page = window.page("Repository")
        if not page.start.sample_button.isVisible():
            return
        page.start.sample_button.click()
        self._until(lambda: repository.phase in ("ready", "failed"), "read the sample project")
        if repository.phase == "failed":
            raise StationMissed(f"The sample project could not be read: {page.error_card.cause.text()}")
        self._picture("repository")
        page.figures.secrets.click()
        self._picture("secrets")
        page.show_list("files")
        window.resize(1920, 1080)
        self._picture("large")
        window.resize(1024, 700)
        self._picture("small")
        window.resize(1280, 800)

    def _settings(self) -> None:
        """Every part of the settings but the devices."""
        window = self.desktop.window
        page = window.page("Settings")
        window.show_page("Settings")
        for part in ("work", "completion", "storage", "about"):
            page.parts.buttons[part].click()
            self._picture(part)
        page.parts.buttons["device"].click()

    def _check(self, pane, device: str) -> None:
        """Choose a device by its card, check it, and look at it half way and at the end."""
        controller = self.desktop.controller
        next(card for card in pane.devices.cards if card.info.name == device).click()
        pane.check_card.check_button.click()
        half = len(controller.found.kernels) // 2
        self._until(lambda: not controller.busy or pane.check_card.bar.value() >= half, f"check {device} half way")
        stem = device.replace(":", "")
        if controller.busy:
            self._picture(f"{stem}-checking")
        self._until(lambda: not controller.busy, f"finish the check of {device}")
        ended = controller.checks.get(device)
        self._picture(f"{stem}-checked")
        if ended is None:
            self.problems.append(f"The check of {device} broke off: {pane.error_card.cause.text()}")
        elif ended.wrong:
            self.problems.append(f"{device} gives wrong numbers: {', '.join(check.kernel for check in ended.wrong)}")

    def _until(self, reached: Callable[[], bool], what: str) -> None:
        """Let the window live until a station is reached."""
        from PySide6.QtCore import QEventLoop

        deadline = time.monotonic() + PATIENCE
        while not reached():
            if time.monotonic() > deadline:
                raise StationMissed(f"The tour could not {what} within {PATIENCE} seconds.")
            self.desktop.application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
            time.sleep(0.002)

    def _picture(self, station: str, widget=None) -> None:
        """One picture in each scheme."""
        for scheme in ("light", "dark"):
            self.desktop.settings.theme = scheme
            for _ in range(3):
                self.desktop.application.processEvents()
            path = self.out / f"{len(self.pictures) // 2 + 1:02d}-{station}-{scheme}.png"
            if not (widget or self.desktop.window).grab().save(str(path)):
                raise StationMissed(f"The picture {path} could not be written.")
            self.pictures.append(path)
            print(path)
