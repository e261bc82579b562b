"""Scenes on the Complete page: one cursor, completed by the base, the adapted model, a blend and along the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from app.window.complete.channel import DONE
from app.window.complete.folds import BLEND, TIMELINE
from app.window.complete.suggester import FAILED, NOTHING, SHOWN
from app.window.pages import ADAPT, COMPLETE
from tour.camera import LARGE
from tour.simulated_user import SceneFailed

if TYPE_CHECKING:
    from tour.scenes import Tour

# The start of a new file in the style of the sample project: what comes next occurs often in it.
NEW_FILE = '''"""The ledger of buoys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidewater.guards import require_name
from tidewater.ledgers.ledger import Ledger, MissingRecord
from tidewater.records.buoy import Buoy


class BuoyLedger(Ledger[Buoy]):
    NAME = "buoys"
    KEY = "name"

    def make(self, row: Mapping[str, Any]) -> Buoy:
        return Buoy.from_row(row)

    def forget(self, name: str) -> None:
        """Takes a buoy out of the harbour."""
        wanted = '''


def before(tour: Tour) -> str:
    """What the base model suggests, which has never seen this project."""
    page = tour.go_to(COMPLETE)
    if not tour.has_model:
        tour.user.until(lambda: page.empty.isVisible(), "say that there is no model yet")
        tour.camera.take("no-model")
        return "there is no model yet"
    _write(tour)
    tour.seen.by_base = _suggestion(tour)
    tour.camera.take("base")
    return _quoted(tour.seen.by_base)


def after(tour: Tour) -> str:
    """The same cursor, base and adapted model side by side."""
    tour.user.click(tour.window.page(ADAPT).result.compare_button)
    page = tour.window.page(COMPLETE)
    tour.user.until(lambda: page.isVisible() and page.editor.isVisible(), "see the editor")
    completion = tour.state.completion
    if completion.model != tour.seen.checkpoints[-1] or not completion.second:
        raise SceneFailed("the adapted model and its base were not put side by side")
    if not page.editor.toPlainText():
        _write(tour)
    tour.seen.by_adapted = _suggestion(tour)
    _until_both(tour)
    tour.seen.by_base = page.sides.before.alone.view.text
    tour.camera.take("complete", both=True)
    tour.camera.take_in(LARGE, "complete")
    return f"{_quoted(tour.seen.by_adapted)} in place of {_quoted(tour.seen.by_base)}"


def accept_a_word(tour: Tour) -> str:
    """Ctrl+Right accepts a word; the rest of the suggestion stays."""
    editor = tour.window.page(COMPLETE).editor
    if not editor.shown_ghost:
        return "there was nothing to accept"
    text = editor.toPlainText()
    tour.user.press(editor, Qt.Key.Key_Right, control=True)
    accepted = editor.toPlainText().removeprefix(text)
    if not accepted:
        raise SceneFailed("no word of the suggestion was accepted")
    _suggestion(tour)
    tour.camera.take("word")
    return _quoted(accepted)


def blend(tour: Tour) -> str:
    """The suggestion follows a slider from one model to the other."""
    page, completion = tour.window.page(COMPLETE), tour.state.completion
    _unfold(tour, BLEND)
    page.drawer.ensureWidgetVisible(page.drawer.blend)
    at = page.drawer.blend.slider.value()
    key = Qt.Key.Key_PageDown if at > 50 else Qt.Key.Key_PageUp
    tour.user.press(page.drawer.blend.slider, key, times=5)
    tour.user.until(lambda: 0 < completion.blend < 1, "blend the two")
    text = _suggestion(tour)
    _until_both(tour)
    tour.camera.take("blend")
    share = page.drawer.blend.heading.remark.words
    tour.user.press(page.drawer.blend.slider, Qt.Key.Key_End if at > 50 else Qt.Key.Key_Home)
    _suggestion(tour)
    return f"{share}: {_quoted(text)}"


def step_through_run(tour: Tour) -> str:
    """What the snapshots along the run would write here."""
    page = tour.window.page(COMPLETE)
    timeline = page.drawer.timeline
    _unfold(tour, TIMELINE)
    tour.user.until(lambda: len(timeline.points) > 1, "list the snapshots of the run")
    page.drawer.ensureWidgetVisible(timeline)
    texts = []
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Right):
        tour.user.press(timeline.slider, key)
        wanted = timeline.point.id
        tour.user.until(
            lambda wanted=wanted: timeline.channel.view is not None and timeline.channel.view.model == wanted,
            "get the answer of a snapshot",
            lambda: timeline.channel.text,
        )
        texts.append(timeline.view.text)
    tour.user.settle()
    page.drawer.ensureWidgetVisible(timeline)
    tour.camera.take("timeline")
    return f"{len(timeline.points)} points, " + ", then ".join(map(_quoted, texts))


def _unfold(tour: Tour, name: str) -> None:
    """Open a section under the editor, unless it is open."""
    folds = tour.window.page(COMPLETE).folds
    if not folds.is_open(name):
        tour.user.click(folds.buttons[name])


def _write(tour: Tour) -> None:
    """Start a new file and type it in."""
    page = tour.window.page(COMPLETE)
    tour.user.click(page.new_button)
    tour.user.type_code(page.editor, NEW_FILE)


def _suggestion(tour: Tour) -> str:
    """The suggestion at the cursor, once there is one."""
    page = tour.window.page(COMPLETE)
    suggester = page.suggester
    tour.user.until(
        lambda: suggester.state in (SHOWN, NOTHING),
        "get a suggestion",
        lambda: (suggester.state, page.editor.shown_ghost),
        lambda: page.error_card.cause.text() if suggester.state == FAILED else "",
    )
    return page.editor.shown_ghost


def _until_both(tour: Tour) -> None:
    """Wait for both sides."""
    channels = tour.window.page(COMPLETE).sides.wanted_channels
    tour.user.until(
        lambda: all(channel.state == DONE and not channel.is_stale for channel in channels),
        "get the answers of both models",
        lambda: [channel.text for channel in channels],
    )
    tour.user.settle()


def _quoted(text: str) -> str:
    """The first line of a suggestion."""
    return repr(text.strip("\n").split("\n")[0].strip())
