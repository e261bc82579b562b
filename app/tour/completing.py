"""Stations: a suggestion at one cursor by the base, by the adapted model, by both, by blends and along the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from app.tour.camera import LARGE
from app.tour.hands import StationMissed
from app.window.complete.channel import DONE
from app.window.complete.folds import BLEND, TIMELINE
from app.window.complete.suggester import FAILED, NOTHING, SHOWN
from app.window.pages import ADAPT, COMPLETE

if TYPE_CHECKING:
    from app.tour.guide import Tour

# The beginning of a file that the sample project does not have, in its own manner: what comes next, it has said often.
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
    """What a model suggests that has never seen this project."""
    page = tour.go_to(COMPLETE)
    if not tour.has_model:
        tour.hands.until(lambda: page.empty.isVisible(), "say that there is no model yet")
        tour.camera.take("no-model")
        return "there is no model yet"
    _write(tour)
    tour.seen.by_base = _settled(tour)
    tour.camera.take("base")
    return _quoted(tour.seen.by_base)


def after(tour: Tour) -> str:
    """The same cursor, base and adapted model side by side."""
    tour.hands.click(tour.window.page(ADAPT).result.compare_button)
    page = tour.window.page(COMPLETE)
    tour.hands.until(lambda: page.isVisible() and page.editor.isVisible(), "see the editor")
    completion = tour.state.completion
    if completion.model != tour.seen.checkpoints[-1] or not completion.second:
        raise StationMissed("the adapted model and its base were not put side by side")
    if not page.editor.toPlainText():
        _write(tour)
    tour.seen.by_adapted = _settled(tour)
    _until_both(tour)
    tour.seen.by_base = page.sides.before.alone.view.text
    tour.camera.take("complete", both=True)
    tour.camera.take_in(LARGE, "complete")
    return f"{_quoted(tour.seen.by_adapted)} in place of {_quoted(tour.seen.by_base)}"


def take_a_word(tour: Tour) -> str:
    """Ctrl+Right takes a word, the rest stays."""
    editor = tour.window.page(COMPLETE).editor
    if not editor.shown_ghost:
        return "there was nothing to take"
    text = editor.toPlainText()
    tour.hands.press(editor, Qt.Key.Key_Right, control=True)
    taken = editor.toPlainText().removeprefix(text)
    if not taken:
        raise StationMissed("a word of the suggestion was not taken")
    _settled(tour)
    tour.camera.take("word")
    return _quoted(taken)


def blend(tour: Tour) -> str:
    """The suggestion follows a slider from one model to the other."""
    page, completion = tour.window.page(COMPLETE), tour.state.completion
    _unfold(tour, BLEND)
    page.drawer.ensureWidgetVisible(page.drawer.blend)
    at = page.drawer.blend.slider.value()
    key = Qt.Key.Key_PageDown if at > 50 else Qt.Key.Key_PageUp
    tour.hands.press(page.drawer.blend.slider, key, times=5)
    tour.hands.until(lambda: 0 < completion.blend < 1, "blend the two")
    text = _settled(tour)
    _until_both(tour)
    tour.camera.take("blend")
    share = page.drawer.blend.heading.remark.words
    tour.hands.press(page.drawer.blend.slider, Qt.Key.Key_End if at > 50 else Qt.Key.Key_Home)
    _settled(tour)
    return f"{share}: {_quoted(text)}"


def scrub(tour: Tour) -> str:
    """What the checkpoints along the run would write here."""
    page = tour.window.page(COMPLETE)
    timeline = page.drawer.timeline
    _unfold(tour, TIMELINE)
    tour.hands.until(lambda: len(timeline.points) > 1, "list the checkpoints along the run")
    page.drawer.ensureWidgetVisible(timeline)
    said = []
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Right):
        tour.hands.press(timeline.slider, key)
        wanted = timeline.point.id
        tour.hands.until(
            lambda wanted=wanted: timeline.channel.view is not None and timeline.channel.view.model == wanted,
            "ask a checkpoint along the run",
            lambda: timeline.channel.text,
        )
        said.append(timeline.view.text)
    tour.hands.settle()
    page.drawer.ensureWidgetVisible(timeline)
    tour.camera.take("timeline")
    return f"{len(timeline.points)} points, " + ", then ".join(map(_quoted, said))


def _unfold(tour: Tour, name: str) -> None:
    """Open a part under the editor, unless it is."""
    folds = tour.window.page(COMPLETE).folds
    if not folds.is_open(name):
        tour.hands.click(folds.buttons[name])


def _write(tour: Tour) -> None:
    """Begin a new file, typed as anybody would."""
    page = tour.window.page(COMPLETE)
    tour.hands.click(page.new_button)
    tour.hands.type_code(page.editor, NEW_FILE)


def _settled(tour: Tour) -> str:
    """Wait for the suggestion at the cursor; gives it."""
    page = tour.window.page(COMPLETE)
    suggester = page.suggester
    tour.hands.until(
        lambda: suggester.state in (SHOWN, NOTHING),
        "get a suggestion",
        lambda: (suggester.state, page.editor.shown_ghost),
        lambda: page.error_card.cause.text() if suggester.state == FAILED else "",
    )
    return page.editor.shown_ghost


def _until_both(tour: Tour) -> None:
    """Wait for both sides."""
    channels = tour.window.page(COMPLETE).sides.wanted_channels
    tour.hands.until(
        lambda: all(channel.state == DONE and not channel.is_stale for channel in channels),
        "hear both models",
        lambda: [channel.text for channel in channels],
    )
    tour.hands.settle()


def _quoted(text: str) -> str:
    """The first line of a suggestion."""
    return repr(text.strip("\n").split("\n")[0].strip())
